from dataclasses import dataclass


@dataclass
class Config:  # expect
    depth: "int"
