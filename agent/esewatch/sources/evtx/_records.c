/* Records of one chunk that are alike. What `RecordReader` says of them, said faster.
 *
 * A plan (`RecordPlan` in record_plans.py) knows where the fields of one kind of record stand. A record
 * that fits its plan in every byte that matters gives its fields here; at the first one that
 * does not, the caller goes on in Python. Nothing is decided here: not what an event means, not
 * what is damaged, not which provider is wanted.
 *
 * Every input is hostile: all positions are 64 bits wide, and none is read that was not compared
 * with the end of the data. Nothing of a C library is called.
 */

#include <Python.h>
#include <stdint.h>

enum {
    CONTENT = 24,        /* of a record, its content */
    INSTANCE_BYTES = 14, /* of a template instance, with the header of its fragment */
    DESCRIPTOR_BYTES = 4,
    FIRST_VALUE = 7, /* the count of the values, size and type of the first */
    NUMBERS = 8,     /* of a plan, before the descriptors */
    BINXML = 0x21,
    STRINGS = 0x81
};

/* The numbers of a plan. The places are counted from the first value on. */
enum { TEMPLATE, LEVEL, EVENT_ID, TIME, RECORD_ID, LAST, INNER, INNER_BYTES };

#define TICKS_A_MICROSECOND 10
#define MICROSECONDS_TO_1970 INT64_C(11644473600000000)
#define EXACT INT64_C(9007199254740992) /* whole numbers that a double holds: below 2^53 */

typedef struct {
    const unsigned char *data;
    uint64_t bytes;
} Chunk;

static PyObject *zero; /* the text that stands between strings */

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    while (bytes--)
        value = value << 8 | at[bytes];
    return value;
}

static int same(const unsigned char *one, const unsigned char *other, uint64_t bytes)
{
    uint64_t at;
    for (at = 0; at < bytes; at++)
        if (one[at] != other[at])
            return 0;
    return 1;
}

static int is_instance(const unsigned char *at)
{
    return at[0] == 0x0f && at[1] == 1 && at[2] == 1 && at[3] == 0 && at[4] == 0x0c;
}

/* strings_of in values.py */
static PyObject *strings_of(const unsigned char *raw, Py_ssize_t bytes)
{
    int little_endian = -1;
    Py_ssize_t used;
    PyObject *text, *strings;

    bytes &= ~(Py_ssize_t)1;
    if (bytes && !raw[bytes - 1] && !raw[bytes - 2])
        bytes -= 2;
    text = PyUnicode_DecodeUTF16Stateful((const char *)raw, bytes, "ignore", &little_endian, &used);
    if (!text)
        return NULL;
    strings = PyUnicode_Split(text, zero, -1);
    Py_DECREF(text);
    return strings;
}

/* A tuple of `count` new references, which it takes; NULL if one of them is. */
static PyObject *tuple_of(PyObject **items, int count)
{
    PyObject *tuple = PyTuple_New(count);
    int at, whole = tuple != NULL;

    for (at = 0; at < count; at++)
        whole = whole && items[at];
    for (at = 0; at < count; at++)
        if (whole)
            PyTuple_SetItem(tuple, at, items[at]);
        else
            Py_XDECREF(items[at]);
    if (!whole)
        Py_CLEAR(tuple);
    return tuple;
}

static PyObject *borrowed(PyObject *tuple, Py_ssize_t at)
{
    PyObject *item = PyTuple_GetItem(tuple, at);
    Py_XINCREF(item);
    return item;
}

/* The fields of the record and its strings, NULL without an error when it does not fit the plan.
 * `values`: place of the count of its values, less the definition of its template if that stands
 * there. `end`: of the record. */
static PyObject *fields_of(
    Chunk chunk, uint64_t values, int defined, uint64_t end, PyObject *plan, PyObject *levels)
{
    PyObject *shape, *head[7], *both[2];
    const unsigned char *first, *last;
    unsigned char *packed;
    uint64_t numbers[NUMBERS], key, at, begin, level, count;
    int64_t micros;
    int which;

    shape = PyTuple_GetItem(plan, 0);
    packed = shape ? (unsigned char *)PyBytes_AsString(shape) : NULL;
    if (!packed)
        return NULL;
    key = (uint64_t)PyBytes_Size(shape);
    if (key < 4 * NUMBERS)
        return NULL;
    key -= 4 * NUMBERS;
    for (which = 0; which < NUMBERS; which++)
        numbers[which] = number(packed + 4 * which, 4);
    if (numbers[LEVEL] + 1 > numbers[LAST] || numbers[EVENT_ID] + 2 > numbers[LAST] ||
        numbers[TIME] + 8 > numbers[LAST] || numbers[RECORD_ID] + 8 > numbers[LAST])
        return NULL;
    if (defined)
        values += numbers[TEMPLATE];
    /* The descriptors, that of the last value, the values, and the head of the last one. */
    at = values + key + DESCRIPTOR_BYTES;
    if (at + numbers[LAST] + INSTANCE_BYTES + FIRST_VALUE > chunk.bytes)
        return NULL;
    if (!same(chunk.data + values, packed + 4 * NUMBERS, key))
        return NULL;
    first = chunk.data + at;
    last = first + numbers[LAST];
    if (!number(first - 4, 2) || first[-2] != BINXML || !is_instance(last))
        return NULL;
    if (number(last + 10, 4) != numbers[INNER])
        return NULL;
    at += numbers[LAST] + INSTANCE_BYTES;
    if (numbers[INNER] == at)
        at += numbers[INNER_BYTES];
    if (at + FIRST_VALUE > chunk.bytes || chunk.data[at + 6] != STRINGS)
        return NULL;
    count = number(chunk.data + at, 4);
    begin = at + 4 + DESCRIPTOR_BYTES * count;
    count = number(chunk.data + at + 4, 2);
    if (begin + count > end || begin + count > chunk.bytes)
        return NULL;
    micros = (int64_t)(number(first + numbers[TIME], 8) / TICKS_A_MICROSECOND);
    micros -= MICROSECONDS_TO_1970;
    if (micros <= -EXACT || micros >= EXACT)
        return NULL;
    level = first[numbers[LEVEL]];
    head[0] = borrowed(plan, 1);
    head[1] = PyLong_FromUnsignedLongLong(number(first + numbers[EVENT_ID], 2));
    head[2] = PyFloat_FromDouble((double)micros / 1e6);
    head[3] = borrowed(plan, 2);
    head[4] = borrowed(plan, 3);
    head[5] = PyLong_FromUnsignedLongLong(number(first + numbers[RECORD_ID], 8));
    head[6] = borrowed(levels, (Py_ssize_t)level);
    both[0] = tuple_of(head, 7);
    both[1] = both[0] ? strings_of(chunk.data + begin, (Py_ssize_t)count) : NULL;
    return tuple_of(both, 2);
}

/* The same by the first plan that fits. */
static PyObject *by_any(
    Chunk chunk, uint64_t at, uint64_t end, uint64_t definition, PyObject *plans, PyObject *levels)
{
    uint64_t values = at + CONTENT + INSTANCE_BYTES;
    Py_ssize_t which, many = PyTuple_Size(plans);
    PyObject *plan, *fields = NULL;

    for (which = 0; which < many && !fields && !PyErr_Occurred(); which++) {
        plan = PyTuple_GetItem(plans, which);
        fields = plan ? fields_of(chunk, values, definition == values, end, plan, levels) : NULL;
    }
    return fields;
}

PyDoc_STRVAR(alike_doc,
"alike($module, data, offsets, index, after, plans, levels, /)\n"
"--\n"
"\n"
"Fields and strings of the records at offsets[index:] with an id above `after`; stops at the\n"
"first that fits no plan, and returns its index too. `plans`: by the offset of the definition of\n"
"the template, a tuple of plans, or None where its records are not wanted.");

static PyObject *alike(PyObject *module, PyObject *arguments)
{
    PyObject *data, *offsets, *plans, *levels, *found, *item, *key, *known = NULL;
    uint64_t at, id, definition, known_of = 0;
    Py_ssize_t index, many;
    long long after;
    Chunk chunk;
    int failed = 0;

    (void)module;
    if (!PyArg_ParseTuple(
            arguments, "SO!nLO!O!:alike", &data, &PyList_Type, &offsets, &index, &after,
            &PyDict_Type, &plans, &PyTuple_Type, &levels))
        return NULL;
    chunk.data = (const unsigned char *)PyBytes_AsString(data);
    chunk.bytes = (uint64_t)PyBytes_Size(data);
    if (index < 0 || PyTuple_Size(levels) != 256) {
        PyErr_SetString(PyExc_ValueError, "an index from 0 on, and 256 levels");
        return NULL;
    }
    found = PyList_New(0);
    many = PyList_Size(offsets);
    for (; found && index < many; index++) {
        at = (uint64_t)PyLong_AsUnsignedLongLong(PyList_GetItem(offsets, index));
        if (PyErr_Occurred()) {
            failed = 1;
            break;
        }
        if (at > chunk.bytes || chunk.bytes - at < CONTENT + INSTANCE_BYTES)
            break;
        id = number(chunk.data + at + 8, 8);
        if (id > INT64_MAX)
            break;
        if ((int64_t)id <= after)
            continue;
        if (!is_instance(chunk.data + at + CONTENT))
            break;
        definition = number(chunk.data + at + CONTENT + 10, 4);
        if (!known || definition != known_of) {
            key = PyLong_FromUnsignedLongLong(definition);
            known = key ? PyDict_GetItemWithError(plans, key) : NULL;
            Py_XDECREF(key);
            known_of = definition;
        }
        if (known == Py_None)
            continue;
        item = known ? by_any(
            chunk, at, at + number(chunk.data + at + 4, 4), definition, known, levels) : NULL;
        if (!item || PyList_Append(found, item)) {
            failed = PyErr_Occurred() != NULL;
            Py_XDECREF(item);
            break;
        }
        Py_DECREF(item);
    }
    if (!found || failed) {
        Py_XDECREF(found);
        return NULL;
    }
    return Py_BuildValue("(Nn)", found, index);
}

static PyMethodDef methods[] = {
    {"alike", alike, METH_VARARGS, alike_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    "_records",
    "Records of one chunk that are alike, see record_plans.py.",
    0,
    methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__records(void)
{
    zero = PyUnicode_FromStringAndSize("\0", 1);
    return zero ? PyModuleDef_Init(&module) : NULL;
}
