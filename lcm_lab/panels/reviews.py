"""The panels that review a repair before it is made, and the one that takes repairs back, under one name."""

from lcm_lab.panels.dissolve_review import DissolveReview
from lcm_lab.panels.journal_panel import JournalPanel
from lcm_lab.panels.repair_review import RepairReview
from lcm_lab.panels.rewrite_review import RewriteReview
from lcm_lab.panels.transplant_review import TransplantReview

__all__ = ["DissolveReview", "JournalPanel", "RepairReview", "RewriteReview", "TransplantReview"]
