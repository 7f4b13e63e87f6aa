"""What decided the advice on a window, in words."""

REASONS = {
    "evidence": "there is too little evidence",
    "bad_pages": "damage must be resolved first",
    "quiet": "something changed in the last 14 days",
    "backup": "a backup runs in it",
    "late": "passes take too long",
    "ratio_low_but_soon": "passes finish soon though much is left to free",
    "ratio_low": "much is left to free",
    "ratio_high": "little is left to free",
    "completes_often": "passes complete every day or two",
    "no_ratio": "there is too little evidence",
    "otherwise": "it frees enough for the pages that it reads",
}
"""Rule of the window advice -> why."""
