"""The findings of a static review, printed: for people, as JSON, as SARIF, and as GitHub's annotations."""

from scorer.listing.github import github
from scorer.listing.located import Located, locate
from scorer.listing.plain import as_json, print_located, print_rule, print_rules
from scorer.listing.sarif import sarif

__all__ = ["Located", "as_json", "github", "locate", "print_located", "print_rule", "print_rules", "sarif"]
