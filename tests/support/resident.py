"""What a process keeps in memory."""

from pathlib import Path


def resident(pid: int, field: str = "VmRSS") -> int:
    """Bytes of a line of /proc/PID/status: VmRSS now, VmHWM the most so far."""
    text = Path(f"/proc/{pid}/status").read_text()
    (kib,) = (line.split()[1] for line in text.splitlines() if line.startswith(f"{field}:"))
    return int(kib) * 1024
