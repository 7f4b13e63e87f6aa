"""Online maintenance: defragmentation, checksum scan, page zeroing, backup."""
