"""When silent databases may be dropped: by a clock that has not jumped lately."""

EVERY_SECONDS = 3600.0
JUMP_SECONDS = 3600.0
"""A clock that is off by more than this against the time that passed has jumped."""
TRUST_SECONDS = 86400.0
"""How long nothing is dropped after a jump."""


class Expiry:
    """Compares the clock (`now`) with the seconds that `passed` since some beginning."""

    def __init__(self, now: float, passed: float) -> None:
        self._ahead = now - passed
        self._next = passed + EVERY_SECONDS

    def jumped(self, now: float, passed: float) -> float:
        """Seconds by which the clock has jumped since it was asked last, 0 when it has not."""
        jump = now - passed - self._ahead
        self._ahead += jump
        if abs(jump) <= JUMP_SECONDS:
            return 0.0
        self._next = passed + TRUST_SECONDS
        return jump

    def due(self, passed: float) -> bool:
        """Whether it is time to drop what is silent; True once an hour."""
        if passed < self._next:
            return False
        self._next = passed + EVERY_SECONDS
        return True
