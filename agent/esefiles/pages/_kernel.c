/* The compiled kernel: which of many pages do not verify. What `kernels.classify` says.
 *
 * XOR+ECC of a block: the XOR of its 32-bit words, and for each bit of the index of a bit the
 * parity of all bits in whose index it is set. The data is read once. 16 lines of 64 bytes make
 * a group: a tree of XORs leaves one line, their sum, and the sums of the lines with bit 0, 1, 2
 * and 3 of their number set; about two XORs a line. The lines that are left, one a group, are
 * folded in halves down to one word, whose masked parities are the last six bits.
 *
 * Plain C: the loops over the words of a line are of a fixed length and without branches, so that
 * compilers make vector instructions of them. XOR does not mind the order of bytes: only what is
 * compared is brought from little-endian.
 */

#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#define GENERATIONS 3
#include <cpuid.h>
#else
#define GENERATIONS 1
#endif

enum { GOOD = 0, BLANK = 1, SUSPECT = 2 };

enum {
    WORDS_OF_LINE = 8,
    LINES_OF_GROUP = 16,
    GROUP = LINES_OF_GROUP * 64,
    AHEAD = 8 * GROUP,
    MOST_GROUPS = 8, /* a block has at most 8 KiB */
    LARGEST_SMALL = 8192,
    FLAGS_OFFSET = 36,
    NEW_FORMAT = 0x2000,
    BLOCK_CHECKSUMS = 40,
    NUMBER_OFFSET = 64
};

#define XOR_SEED UINT32_C(0x89ABCDEF)

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define INLINE static __forceinline
#else
#define INLINE static inline
#endif

/* What follows is on its way from memory while this group is summed. Past the end it is ignored. */
#if defined(__GNUC__)
#define FETCH_AHEAD(lines)                                                                     \
    do {                                                                                       \
        int line_;                                                                             \
        for (line_ = 0; line_ < LINES_OF_GROUP; line_++)                                       \
            __builtin_prefetch((const void *)((uintptr_t)(lines) + AHEAD + line_ * 64));        \
    } while (0)
#else
#define FETCH_AHEAD(lines) ((void)0)
#endif

/* A word in the machine's own order, from any address. */
INLINE uint64_t word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

INLINE uint32_t little_32(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

INLINE uint64_t little_64(const unsigned char *at)
{
    return (uint64_t)little_32(at) | (uint64_t)little_32(at + 4) << 32;
}

INLINE uint32_t parity(uint64_t word)
{
    word ^= word >> 32;
    word ^= word >> 16;
    word ^= word >> 8;
    word ^= word >> 4;
    return UINT32_C(0x6996) >> (word & 15) & 1;
}

INLINE uint64_t xor_of_line(const uint64_t *line)
{
    uint64_t sum = 0;
    int word;
    for (word = 0; word < WORDS_OF_LINE; word++)
        sum ^= line[word];
    return sum;
}

INLINE int is_zero(const unsigned char *data, size_t size)
{
    size_t begin, at;
    for (begin = 0; begin < size; begin += GROUP) {
        uint64_t any = 0;
        FETCH_AHEAD(data + begin);
        for (at = 0; at < GROUP; at += 8)
            any |= word_at(data + begin + at);
        if (any)
            return 0;
    }
    return 1;
}

/* XOR of all words of a block of `groups` groups but its first one, which is `without`: returned
 * in little-endian order. The lower half of the ECC is left in *low. */
INLINE uint64_t sum_of_block(const unsigned char *block, int groups, uint64_t without,
                             uint32_t *low)
{
    uint64_t left[MOST_GROUPS * WORDS_OF_LINE];
    uint64_t bit0[WORDS_OF_LINE] = {0}, bit1[WORDS_OF_LINE] = {0};
    uint64_t bit2[WORDS_OF_LINE] = {0}, bit3[WORDS_OF_LINE] = {0};
    uint64_t whole;
    uint32_t bits;
    unsigned char bytes[8];
    int group, word, half, at;

    for (group = 0; group < groups; group++) {
        const unsigned char *lines = block + group * GROUP;
        FETCH_AHEAD(lines);
        for (word = 0; word < WORDS_OF_LINE; word++) {
            const unsigned char *column = lines + word * 8;
#define LINE(n) word_at(column + (n) * 64)
            uint64_t l1 = LINE(1), l3 = LINE(3), l5 = LINE(5), l7 = LINE(7);
            uint64_t l9 = LINE(9), l11 = LINE(11), l13 = LINE(13), l15 = LINE(15);
            uint64_t p0 = LINE(0) ^ l1, p1 = LINE(2) ^ l3, p2 = LINE(4) ^ l5, p3 = LINE(6) ^ l7;
            uint64_t p4 = LINE(8) ^ l9, p5 = LINE(10) ^ l11;
            uint64_t p6 = LINE(12) ^ l13, p7 = LINE(14) ^ l15;
#undef LINE
            uint64_t q0 = p0 ^ p1, q1 = p2 ^ p3, q2 = p4 ^ p5, q3 = p6 ^ p7;
            uint64_t upper = q2 ^ q3;
            bit0[word] ^= l1 ^ l3 ^ l5 ^ l7 ^ l9 ^ l11 ^ l13 ^ l15;
            bit1[word] ^= p1 ^ p3 ^ p5 ^ p7;
            bit2[word] ^= q1 ^ q3;
            bit3[word] ^= upper;
            left[group * WORDS_OF_LINE + word] = q0 ^ q1 ^ upper;
        }
    }
    left[0] ^= without;

    bits = parity(xor_of_line(bit0)) << 9 | parity(xor_of_line(bit1)) << 10
         | parity(xor_of_line(bit2)) << 11 | parity(xor_of_line(bit3)) << 12;
    /* The number of the group is above that of the line, that of the word below it. */
    for (half = groups * WORDS_OF_LINE / 2; half > 0; half /= 2) {
        uint64_t upper = 0;
        for (at = 0; at < half; at++) {
            upper ^= left[half + at];
            left[at] ^= left[half + at];
        }
        bits |= parity(upper) * (uint32_t)(half >= WORDS_OF_LINE ? half << 10 : half << 6);
    }
    memcpy(bytes, left, sizeof bytes);
    whole = little_64(bytes);
    bits |= parity(whole & UINT64_C(0xAAAAAAAAAAAAAAAA));
    bits |= parity(whole & UINT64_C(0xCCCCCCCCCCCCCCCC)) << 1;
    bits |= parity(whole & UINT64_C(0xF0F0F0F0F0F0F0F0)) << 2;
    bits |= parity(whole & UINT64_C(0xFF00FF00FF00FF00)) << 3;
    bits |= parity(whole & UINT64_C(0xFFFF0000FFFF0000)) << 4;
    bits |= parity(whole & UINT64_C(0xFFFFFFFF00000000)) << 5;
    *low = bits;
    return whole;
}

/* The checksum of a block of page `number` as it is stored. */
INLINE uint64_t block_checksum(const unsigned char *block, int groups, int is_first,
                               uint32_t number)
{
    uint32_t low, high, mask = (uint32_t)groups * GROUP * 8 - 1;
    uint64_t whole = sum_of_block(block, groups, is_first ? word_at(block) : 0, &low);
    high = parity(whole) ? low ^ mask : low;
    return (uint64_t)(high << 16 | low) << 32 | ((uint32_t)(whole ^ whole >> 32) ^ number);
}

INLINE int class_of_page(const unsigned char *page, int groups, int blocks, uint32_t number)
{
    size_t block_size = (size_t)groups * GROUP;
    uint64_t stored = little_64(page);
    int block, good;

    if (!stored && is_zero(page, block_size * (size_t)blocks))
        return BLANK;
    if (!(little_32(page + FLAGS_OFFSET) & NEW_FORMAT)) {
        uint32_t low;
        uint64_t whole;
        if (blocks > 1)
            return SUSPECT;
        whole = sum_of_block(page, groups, word_at(page), &low);
        whole ^= stored >> 32;
        good = (uint32_t)(whole ^ whole >> 32 ^ XOR_SEED) == (uint32_t)stored;
        return good && stored >> 32 == number ? GOOD : SUSPECT;
    }
    good = stored == block_checksum(page, groups, 1, number);
    for (block = 1; block < blocks; block++) {
        uint64_t of_block = little_64(page + BLOCK_CHECKSUMS + (block - 1) * 8);
        good &= of_block == block_checksum(page + block * block_size, groups, 0, number);
    }
    if (blocks > 1)
        good &= little_32(page + NUMBER_OFFSET) == number;
    return good ? GOOD : SUSPECT;
}

INLINE void classes_of(const unsigned char *pages, size_t count, int groups, int blocks,
                       uint32_t first, unsigned char *classes)
{
    size_t at, page_size = (size_t)groups * GROUP * (size_t)blocks;
    for (at = 0; at < count; at++)
        classes[at] = (unsigned char)class_of_page(pages + at * page_size, groups, blocks,
                                                   first + (uint32_t)at);
}

INLINE void classes_of_pages(const unsigned char *pages, size_t count, size_t page_size,
                             uint32_t first, unsigned char *classes)
{
    switch (page_size) {
    case 2048: classes_of(pages, count, 2, 1, first, classes); break;
    case 4096: classes_of(pages, count, 4, 1, first, classes); break;
    case 8192: classes_of(pages, count, 8, 1, first, classes); break;
    case 16384: classes_of(pages, count, 4, 4, first, classes); break;
    case 32768: classes_of(pages, count, 8, 4, first, classes); break;
    }
}

/* One machine code for each generation of x86-64. No target_clones: Windows' loader cannot choose. */
#define FOR_PROCESSOR(name)                                                                    \
    static void name(const unsigned char *pages, size_t count, size_t page_size,               \
                     uint32_t first, unsigned char *classes)                                   \
    {                                                                                          \
        classes_of_pages(pages, count, page_size, first, classes);                             \
    }

FOR_PROCESSOR(classify_on_any)
#if GENERATIONS > 1
__attribute__((target("avx2"))) FOR_PROCESSOR(classify_by_avx2)
__attribute__((target("avx512f"))) FOR_PROCESSOR(classify_by_avx512)
#endif

static void (*const classify_pages[GENERATIONS])(const unsigned char *, size_t, size_t, uint32_t,
                                                 unsigned char *) = {
    classify_on_any,
#if GENERATIONS > 1
    classify_by_avx2,
    classify_by_avx512,
#endif
};

/* The newest that this processor knows and whose registers the operating system keeps. */
static int find_generation(void)
{
#if GENERATIONS > 1
    enum { AVX_KEPT = 0x6, AVX512_KEPT = 0xE6 };
    unsigned int a, features, c, d, kept;
    if (!__get_cpuid(1, &a, &features, &c, &d) || !(c & bit_OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &features, &c, &d))
        return 0;
    if (features & bit_AVX512F && (kept & AVX512_KEPT) == AVX512_KEPT)
        return 2;
    if (features & bit_AVX2 && (kept & AVX_KEPT) == AVX_KEPT)
        return 1;
#endif
    return 0;
}

/* Found once: under a hypervisor the question costs as much as a megabyte of pages. */
static int generation;

PyDoc_STRVAR(classify_doc,
"classify($module, pages, page_size, first, newest=2, /)\n"
"--\n"
"\n"
"See `kernels.classify`. The GIL is free while it works. Of the machine code for this processor\n"
"and for older ones it takes the newest, but none above `newest`: see `generation`.");

static PyObject *classify(PyObject *module, PyObject *arguments)
{
    Py_buffer pages;
    Py_ssize_t page_size;
    unsigned long long first;
    int newest = GENERATIONS;
    PyObject *classes = NULL;
    (void)module;

    /* K: modulo 2^64, so that of any whole number the lower 32 bits come out. */
    if (!PyArg_ParseTuple(arguments, "y*nK|i:classify", &pages, &page_size, &first, &newest))
        return NULL;
    switch (page_size) {
    case 2048: case 4096: case 8192: case 16384: case 32768:
        break;
    default:
        PyErr_Format(PyExc_ValueError, "page size %zd", page_size);
        goto done;
    }
    if (newest < 0) {
        PyErr_SetString(PyExc_ValueError, "newest is below 0");
        goto done;
    }
    classes = PyBytes_FromStringAndSize(NULL, pages.len / page_size);
    if (classes) {
        unsigned char *to = (unsigned char *)PyBytes_AsString(classes);
        Py_BEGIN_ALLOW_THREADS
        classify_pages[newest < generation ? newest : generation](
            pages.buf, (size_t)(pages.len / page_size), (size_t)page_size, (uint32_t)first, to);
        Py_END_ALLOW_THREADS
    }
done:
    PyBuffer_Release(&pages);
    return classes;
}

PyDoc_STRVAR(generation_doc,
"generation($module, /)\n"
"--\n"
"\n"
"The newest machine code for this processor: 0 for any, 1 for AVX2, 2 for AVX-512.");

static PyObject *tell_generation(PyObject *module, PyObject *arguments)
{
    (void)module;
    (void)arguments;
    return PyLong_FromLong(generation);
}

static PyMethodDef methods[] = {
    {"classify", classify, METH_VARARGS, classify_doc},
    {"generation", tell_generation, METH_NOARGS, generation_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "_kernel",
    "The compiled kernel, see kernels.py.",
    0,
    methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    generation = find_generation();
    return PyModuleDef_Init(&module);
}
