"""Files of recovery: transaction logs and checkpoints."""
