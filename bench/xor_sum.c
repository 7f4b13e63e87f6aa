/* The XOR of all 64-bit words of a buffer: the least that any checksum of it must do. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
uint64_t xor_sum(const unsigned char *data, size_t size)
{
    uint64_t sum = 0, word;
    size_t at;
    for (at = 0; at + 8 <= size; at += 8) {
        memcpy(&word, data + at, sizeof word);
        sum ^= word;
    }
    return sum;
}
