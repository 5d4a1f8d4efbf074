"""The sections of the page Pictures."""
