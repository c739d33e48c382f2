import base64
import binascii
import bz2
import codecs
import gzip
import lzma
import zipfile
import zlib
from base64 import b64decode as d, b85decode
from zlib import decompress

a = d(TEXT)  # expect
b = b85decode(TEXT)  # expect
c = decompress(TEXT)  # expect
e = lzma.decompress(TEXT)  # expect
f = bytes.fromhex(TEXT)  # expect
g = binascii.unhexlify(TEXT)  # expect
h = codecs.decode(TEXT, "rot13")  # expect
i = gzip.open("x")  # expect
j = zipfile.ZipFile("x")  # expect
k = getattr(base64, "b64" + "decode")(TEXT)  # expect
l = list(map(zlib.decompress, [TEXT]))  # expect
m = bytearray.fromhex(TEXT)  # expect
n = zlib.decompressobj()  # expect
o = bz2.decompress(TEXT)  # expect
p = base64.urlsafe_b64decode(TEXT)  # expect
q = base64.standard_b64decode(TEXT)  # expect
