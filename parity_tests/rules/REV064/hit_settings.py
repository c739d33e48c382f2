"""Settings of a file: knobs that the submission does not show."""

import configparser
import csv
import json
import sys
from pathlib import Path

parser = configparser.ConfigParser()
parser.read("knobs.ini")  # expect
parser.read(["/etc/knobs.ini", "knobs.ini"])  # expect
DEPTH = configparser.ConfigParser().read("knobs.ini")  # expect


def knobs(path):
    with open(path) as file:
        held = json.load(file)  # expect
    other = configparser.ConfigParser()
    other.read(path)  # expect
    rows = list(csv.reader(open(path)))  # expect
    text = json.loads(Path(path).read_text())  # expect
    return held, other, rows, text, float(open(path).read())  # expect


def main():
    return knobs(sys.argv[1])
