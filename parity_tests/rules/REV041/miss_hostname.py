import socket
from socket import gethostname

print(socket.gethostname(), gethostname())
