"""Findings and what their codes mean, printed: for people, as JSON, as SARIF, as GitHub's annotations, as pages."""

from scorer.listing.codes import pages, print_code, print_codes
from scorer.listing.github import github
from scorer.listing.located import Located, locate
from scorer.listing.plain import as_json, print_located
from scorer.listing.sarif import sarif

__all__ = ["Located", "as_json", "github", "locate", "pages", "print_code", "print_codes", "print_located", "sarif"]
