/* The slots of the package's classes, and what is made of them: roots, tracked values, positions, entries. */
#include "steps.h"

/* An entry, or a part of one: Python's garbage collector does not know of it before `steps_watch`.
 *
 * Only the log has it, which holds no garbage while its context is open; looking at it takes as long as making it.
 */
PyObject *steps_make_entry(PyTypeObject *type)
{
    PyObject *made = PyObject_GC_New(PyObject, type);
    if (made != NULL)
        memset((char *)made + sizeof(PyObject), 0, (size_t)type->tp_basicsize - sizeof(PyObject));
    return made;
}

/* An object of a Python class, as `__new__` makes it: all slots are empty. */
PyObject *steps_make(PyTypeObject *type)
{
    PyObject *made = steps_make_entry(type);
    if (made != NULL)
        PyObject_GC_Track(made);
    return made;
}

static bool is_entry(PyTypeObject *type)
{
    return type == bound.one || type == bound.pair || type == bound.element_read || type == bound.element_write ||
           type == bound.write || type == bound.operation || type == bound.update || type == bound.call;
}

static int watch(PyObject *thing, void *nothing)
{
    PyTypeObject *type = Py_TYPE(thing);
    if (is_entry(type)) {
        if (!PyObject_GC_IsTracked(thing))
            PyObject_GC_Track(thing);
    } else if (type != &PyTuple_Type && type != &PyList_Type)
        return 0;
    return type->tp_traverse(thing, watch, nothing);
}

/* Let the garbage collector know what a log holds, when its context has closed: whoever keeps that may forget it. */
int steps_watch(PyObject *log)
{
    steps_forget_positions();
    if (bound.buffer == NULL || !PyList_Check(log))
        return 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(log); k++) {
        PyObject *entry = PyList_GET_ITEM(log, k);
        if (is_entry(Py_TYPE(entry)) && !PyObject_GC_IsTracked(entry))
            PyObject_GC_Track(entry);
        if (PyType_IS_GC(Py_TYPE(entry)) && Py_TYPE(entry)->tp_traverse(entry, watch, NULL) != 0)
            return -1;
    }
    return 0;
}

/* An attribute of a context, borrowed: the context holds it. NULL without an exception if there is none. */
PyObject *steps_attribute(PyObject *thing, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(thing, name);
    if (found == NULL) {
        PyErr_Clear();
        return NULL;
    }
    Py_DECREF(found);
    return found;
}

/* Whether a context takes the short ways: it is open in this thread, and nobody listens. */
bool steps_is_lean(PyObject *context)
{
    static PyTypeObject *known;
    if (Py_TYPE(context) != known) {
        if (!PyType_IsSubtype(Py_TYPE(context), bound.lean))
            return false;
        Py_XSETREF(known, (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(context)));
    }
    PyObject *thread = SLOT(context, bound.thread);
    return SLOT(context, bound.is_lean) == Py_True && thread != NULL && PyLong_CheckExact(thread) &&
           PyLong_AsUnsignedLong(thread) == PyThread_get_thread_ident();
}

static bool is_root(PyObject *place)
{
    return Py_IS_TYPE(place, bound.root) || Py_IS_TYPE(place, bound.entered) || Py_IS_TYPE(place, bound.borrowed_root);
}

/* Whether the memory of a root is the caller's own still: the first write moves it. */
bool steps_is_borrowed(PyObject *root)
{
    return Py_IS_TYPE(root, bound.borrowed_root) && SLOT(root, bound.borrowed) != Py_False;
}

/* The root of a place, borrowed; NULL for places that are left to Python. */
PyObject *steps_root(PyObject *place)
{
    if (is_root(place))
        return place;
    if (!Py_IS_TYPE(place, bound.view))
        return NULL;
    PyObject *root = SLOT(place, bound.part_root);
    return root != NULL && is_root(root) ? root : NULL;
}

/* The context of a place, borrowed; NULL for places that are left to Python. */
PyObject *steps_context_of(PyObject *place)
{
    PyObject *root = steps_root(place);
    return root == NULL ? NULL : SLOT(root, bound.context);
}

/* Py_True or Py_False: whether a gradient passes through a place; NULL if Python must be asked. */
PyObject *steps_active(PyObject *place)
{
    PyObject *top = is_root(place) ? place : Py_IS_TYPE(place, bound.view) ? SLOT(place, bound.top) : NULL;
    if (top == NULL || !is_root(top))
        return NULL;
    PyObject *active = SLOT(top, bound.active);
    return active == Py_True || active == Py_False ? active : NULL;
}

/* Whether a thing is a plain number that an operator takes beside a tracked value. */
bool steps_is_number(PyObject *thing)
{
    return PyFloat_CheckExact(thing) || PyLong_CheckExact(thing) || Py_IS_TYPE(thing, &PyDoubleArrType_Type);
}

/* Whether a thing is an array of NumPy's, of real numbers or booleans, that an operation takes beside a tracked value.
 */
bool steps_is_plain_array(PyObject *thing)
{
    if (!PyArray_CheckExact(thing))
        return false;
    int type = PyArray_TYPE((PyArrayObject *)thing);
    return PyTypeNum_ISFLOAT(type) || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
}

/* Whether code that is not read may have a plain array that shows the memory of a place, which may be NULL. */
bool steps_is_handed_out(PyObject *context, PyObject *place)
{
    PyObject *handed_out = SLOT(context, bound.handed_out);
    if (handed_out == NULL || !PyDict_CheckExact(handed_out))
        return true;
    if (place == NULL || PyDict_GET_SIZE(handed_out) == 0)
        return false;
    PyObject *root = steps_root(place);
    return root == NULL || PyDict_Contains(handed_out, root) != 0;
}

/* The bytes from `*low` up to `*high` among which an array lies; equal if it has no elements. */
static void find_extent(PyArrayObject *array, char **low, char **high)
{
    *low = *high = PyArray_BYTES(array);
    if (PyArray_SIZE(array) == 0)
        return;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        npy_intp reach = (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
        *(reach < 0 ? low : high) += reach;
    }
    *high += PyArray_ITEMSIZE(array);
}

/* Whether a plain array shares no memory with the original of an argument that the function has written
 * (`Ownership.check_original`); false for what is left to Python. */
bool steps_is_apart(PyObject *context, PyObject *array)
{
    PyObject *originals = SLOT(context, bound.originals), *handed_out = SLOT(context, bound.handed_out);
    char *low, *high, *first, *last;
    if (originals == NULL || !PyList_CheckExact(originals) || handed_out == NULL || !PyDict_CheckExact(handed_out) ||
        PyDict_GET_SIZE(handed_out) != 0)
        return false;
    find_extent((PyArrayObject *)array, &low, &high);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(originals); k++) {
        PyObject *pair = PyList_GET_ITEM(originals, k);
        PyObject *original = PyTuple_GET_ITEM(pair, 0), *buffer = PyTuple_GET_ITEM(pair, 1);
        if (!PyArray_Check(original) || !Py_IS_TYPE(buffer, bound.buffer))
            return false;
        find_extent((PyArrayObject *)original, &first, &last);
        if (first >= high || low >= last)
            continue;
        PyObject *root = steps_root(SLOT(buffer, bound.place));
        if (root == NULL || Py_IS_TYPE(root, bound.root) || SLOT(root, bound.written) != Py_False)
            return false;
    }
    return true;
}

/* Whether a key is an integer of Python's, or a tuple of these. */
bool steps_is_index(PyObject *key)
{
    if (PyLong_CheckExact(key))
        return true;
    if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) == 0)
        return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(key, k)))
            return false;
    return true;
}

/* Where the element of `array` that an index names lies, if it is one double and the index is within bounds. */
void *steps_element(PyObject *thing, PyObject *key)
{
    if (!PyArray_CheckExact(thing))
        return NULL;
    PyArrayObject *array = (PyArrayObject *)thing;
    bool single = PyLong_CheckExact(key);
    int axes = single ? 1 : (int)PyTuple_GET_SIZE(key);
    if (PyArray_NDIM(array) != axes || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISBEHAVED_RO(array))
        return NULL;
    char *at = PyArray_BYTES(array);
    for (int axis = 0; axis < axes; axis++) {
        Py_ssize_t index = PyLong_AsSsize_t(single ? key : PyTuple_GET_ITEM(key, axis));
        npy_intp length = PyArray_DIM(array, axis);
        if (index == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return NULL;
        }
        if (index < 0)
            index += length;
        if (index < 0 || index >= length)
            return NULL;
        at += index * PyArray_STRIDE(array, axis);
    }
    return at;
}

/* Positions that were asked for lately: a loop asks for the same ones in each turn. */
enum { POSITIONS = 256 };
static PyObject *positions[POSITIONS];

void steps_forget_positions(void)
{
    for (int k = 0; k < POSITIONS; k++)
        Py_CLEAR(positions[k]);
}

/* The instruction that a frame runs, as `(code, instruction)`. Takes over `code`. */
static PyObject *position_of(PyFrameObject *frame, PyCodeObject *code)
{
    int instruction = PyFrame_GetLasti(frame);
    PyObject **lately = &positions[(((uintptr_t)code >> 6) ^ ((uintptr_t)instruction >> 1)) % POSITIONS];
    if (*lately != NULL && PyTuple_GET_ITEM(*lately, 0) == (PyObject *)code &&
        PyLong_AsLong(PyTuple_GET_ITEM(*lately, 1)) == instruction) {
        Py_DECREF(code);
        return Py_NewRef(*lately);
    }
    PyObject *number = PyLong_FromLong(instruction), *position = number == NULL ? NULL : PyTuple_New(2);
    if (position == NULL) {
        Py_DECREF(code);
        Py_XDECREF(number);
        return NULL;
    }
    PyTuple_SET_ITEM(position, 0, (PyObject *)code);
    PyTuple_SET_ITEM(position, 1, number);
    PyObject_GC_UnTrack(position); /* what it holds is no garbage */
    Py_XSETREF(*lately, Py_NewRef(position));
    return position;
}

/* `bridge.code_position.here`: the innermost frame outside of the package, NumPy, SciPy and JAX. */
PyObject *steps_position(void)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame != NULL) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *internal = PyDict_GetItemWithError(bound.internal, code->co_filename);
        if (internal == NULL) {
            internal = PyErr_Occurred() ? NULL : PyObject_CallOneArg(bound.is_internal, code->co_filename);
            if (internal == NULL) {
                Py_DECREF(code);
                Py_DECREF(frame);
                return NULL;
            }
            Py_DECREF(internal); /* True, False or None */
        }
        if (internal == Py_None) { /* a tape is replayed, which knows the position */
            Py_DECREF(code);
            Py_DECREF(frame);
            return NOT_HERE;
        }
        PyFrameObject *back = internal == Py_True ? PyFrame_GetBack(frame) : NULL;
        if (back == NULL) {
            PyObject *position = position_of(frame, code);
            Py_DECREF(frame);
            return position;
        }
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
    }
    return NOT_HERE;
}

/* A tracked value of a class on a new root of its shape and dtype, which are taken over. */
static PyObject *rooted(PyObject *context, PyTypeObject *type, PyObject *value, PyObject *shape, PyObject *dtype,
                        PyObject *active)
{
    PyObject *tracked = NULL, *root = NULL;
    PyObject *strides = Py_NewRef(Py_None);
    if (PyArray_CheckExact(value) && PyArray_NDIM((PyArrayObject *)value) > 1 &&
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value))
        Py_SETREF(strides, PyObject_GetAttr(value, names.strides));
    PyObject *serial = Py_TYPE(bound.serials)->tp_iternext(bound.serials);
    if (shape == NULL || serial == NULL || strides == NULL || (root = steps_make(bound.root)) == NULL)
        goto done;
    SLOT(root, bound.context) = Py_NewRef(context);
    SLOT(root, bound.serial) = Py_NewRef(serial);
    SLOT(root, bound.shape) = Py_NewRef(shape);
    SLOT(root, bound.dtype) = Py_NewRef(dtype);
    SLOT(root, bound.active) = Py_NewRef(active);
    SLOT(root, bound.born_active) = Py_NewRef(active);
    SLOT(root, bound.shadow) = Py_NewRef(Py_None);
    SLOT(root, bound.owned) = Py_NewRef(Py_False);
    SLOT(root, bound.strides) = Py_NewRef(strides);
    tracked = steps_make(type);
    if (tracked != NULL) {
        SLOT(tracked, bound.value) = Py_NewRef(value);
        SLOT(tracked, bound.place) = Py_NewRef(root);
    }
done:
    Py_XDECREF(root);
    Py_XDECREF(strides);
    Py_XDECREF(serial);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return tracked;
}

/* A tracked number of double precision on a new root. */
PyObject *steps_scalar(PyObject *context, PyObject *value, PyObject *active)
{
    return rooted(context, bound.scalar, value, PyTuple_New(0), (PyObject *)PyArray_DescrFromType(NPY_DOUBLE), active);
}

/* `Lean._fresh`: a result that carries a gradient, tracked on a new root; NOT_HERE for what is left to Python. */
PyObject *steps_fresh(PyObject *context, PyObject *value)
{
    if (Py_IS_TYPE(value, &PyDoubleArrType_Type))
        return steps_scalar(context, value, Py_True);
    if (PyFloat_CheckExact(value))
        return rooted(context, bound.weak_scalar, value, PyTuple_New(0), (PyObject *)PyArray_DescrFromType(NPY_DOUBLE),
                      Py_True);
    if (Py_IS_TYPE(value, &PyFloatArrType_Type))
        return rooted(context, bound.scalar, value, PyTuple_New(0), (PyObject *)PyArray_DescrFromType(NPY_FLOAT),
                      Py_True);
    if (!PyArray_CheckExact(value))
        return NOT_HERE;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_BASE(array) != NULL || !PyArray_ISFLOAT(array))
        return NOT_HERE;
    return rooted(context, bound.buffer, value, PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array)),
                  Py_NewRef((PyObject *)PyArray_DESCR(array)), Py_True);
}

/* Append an entry to the log of a context. */
int steps_log(PyObject *context, PyObject *entry)
{
    PyObject *log = SLOT(context, bound.log);
    if (PyList_CheckExact(log))
        return PyList_Append(log, entry);
    PyObject *done = PyObject_CallMethodOneArg(log, names.append, entry);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}
