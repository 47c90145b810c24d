/* The walk back over the commonest entries: take, undo, push, as `Context.rewind` says it. */
#include "steps.h"

/* How many entries are walked before Python is asked again, which handles signals and lets other threads run. */
enum { STRETCH = 256 };

/* What the book's pulls of arithmetic compute, of real operands (`bridge.compiled.SHORTCUTS` names the functions). */
typedef enum { CALLED, SAME, NEGATED, TIMES_Y, TIMES_X, OVER_Y, OF_DIVISOR, OF_BASE } Shortcut;

static bool is_real(PyObject *thing)
{
    if (!PyArray_CheckExact(thing))
        return steps_is_number(thing);
    int type = PyArray_TYPE((PyArrayObject *)thing);
    return PyTypeNum_ISFLOAT(type) || PyTypeNum_ISINTEGER(type);
}

static PyObject *doubled(PyObject *x)
{
    PyObject *two = PyLong_FromLong(2), *product = two == NULL ? NULL : PyNumber_Multiply(two, x);
    Py_XDECREF(two);
    return product;
}

/* The cotangent of an operand, as the pull gives it. */
static PyObject *pulled(PyObject *pull, PyObject *ct, PyObject *output, PyObject *x, PyObject *y)
{
    PyObject *known = PyDict_GetItemWithError(bound.shortcuts, pull);
    Shortcut shortcut = known == NULL ? CALLED : (Shortcut)PyLong_AsLong(known);
    PyObject *first, *second, *made;
    switch (shortcut) {
    case SAME:
        return Py_NewRef(ct);
    case NEGATED:
        return PyNumber_Negative(ct);
    case TIMES_Y:
        if (is_real(y))
            return PyNumber_Multiply(ct, y);
        break;
    case TIMES_X:
        if (is_real(x))
            return PyNumber_Multiply(ct, x);
        break;
    case OVER_Y:
        if (is_real(y))
            return PyNumber_TrueDivide(ct, y);
        break;
    case OF_DIVISOR:
        if (!is_real(y) || !is_real(output))
            break;
        first = PyNumber_Negative(ct);
        second = first == NULL ? NULL : PyNumber_TrueDivide(output, y);
        made = second == NULL ? NULL : PyNumber_Multiply(first, second);
        Py_XDECREF(first);
        Py_XDECREF(second);
        return made;
    case OF_BASE:
        if (!is_real(x) || !PyLong_CheckExact(y) || PyLong_AsLong(y) != 2)
            break;
        first = doubled(x);
        made = first == NULL ? NULL : PyNumber_Multiply(ct, first);
        Py_XDECREF(first);
        return made;
    default:
        break;
    }
    PyErr_Clear();
    PyObject *arguments[] = {ct, output, x, y};
    return PyObject_Vectorcall(pull, arguments, y == NULL ? 3 : 4, NULL);
}

/* The shadow of a place as an array that may be written (`Part.region`); a new reference. */
static PyObject *region_of(PyObject *place)
{
    if (Py_IS_TYPE(place, bound.view)) {
        PyObject *above = region_of(SLOT(place, bound.parent));
        PyObject *part = above == NULL ? NULL : PyObject_GetItem(above, SLOT(place, bound.key));
        Py_XDECREF(above);
        return part;
    }
    if (steps_root(place) == place) {
        PyObject *owned = SLOT(place, bound.owned), *shadow = SLOT(place, bound.shadow);
        if (shadow != Py_None && PyLong_CheckExact(owned) && PyLong_AsLong(owned) == 2)
            return Py_NewRef(shadow);
    }
    return PyObject_CallMethodNoArgs(place, names.region);
}

/* Whether a cotangent has the shape and the dtype of a place. */
static bool fits(PyObject *ct, PyObject *shape, PyObject *dtype)
{
    if (Py_IS_TYPE(ct, &PyDoubleArrType_Type))
        return PyTuple_GET_SIZE(shape) == 0 && ((PyArray_Descr *)dtype)->type_num == NPY_DOUBLE;
    if (!PyArray_CheckExact(ct) || dtype != (PyObject *)PyArray_DESCR((PyArrayObject *)ct))
        return false;
    PyArrayObject *array = (PyArrayObject *)ct;
    if (PyArray_NDIM(array) != PyTuple_GET_SIZE(shape))
        return false;
    for (int axis = 0; axis < PyArray_NDIM(array); axis++)
        if (PyArray_DIM(array, axis) != PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis)))
            return false;
    return true;
}

static int accumulate_by_python(PyObject *place, PyObject *ct)
{
    PyObject *done = PyObject_CallMethodOneArg(place, names.accumulate, ct);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static void set_slot(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}

/* `Root.accumulate`. */
static int accumulate_root(PyObject *root, PyObject *ct)
{
    PyObject *shadow = SLOT(root, bound.shadow), *owned = SLOT(root, bound.owned), *sum;
    if (!fits(ct, SLOT(root, bound.shape), SLOT(root, bound.dtype)))
        return accumulate_by_python(root, ct);
    if (shadow == Py_None) {
        set_slot(root, bound.shadow, Py_NewRef(ct));
        set_slot(root, bound.owned, Py_NewRef(Py_False));
        return 0;
    }
    bool is_owned = owned != Py_False;
    if (!is_owned && PyTuple_GET_SIZE(SLOT(root, bound.shape)) == 0)
        sum = PyNumber_Add(shadow, ct);
    else {
        /* Held by the root alone, and on memory of its own: `adoption.is_held_alone`. */
        bool alone = Py_REFCNT(shadow) == 1 && PyArray_CheckExact(shadow) &&
                     PyArray_BASE((PyArrayObject *)shadow) == NULL && PyArray_ISWRITEABLE((PyArrayObject *)shadow);
        if (!is_owned && !alone)
            return accumulate_by_python(root, ct);
        if (!is_owned)
            set_slot(root, bound.owned, Py_NewRef(Py_True));
        Py_INCREF(shadow);
        sum = PyNumber_InPlaceAdd(shadow, ct);
        Py_DECREF(shadow);
    }
    if (sum == NULL)
        return -1;
    set_slot(root, bound.shadow, sum);
    return 0;
}

/* Add a cotangent to the shadow of a place. */
static int accumulate(PyObject *place, PyObject *ct)
{
    if (steps_root(place) == place)
        return accumulate_root(place, ct);
    if (!Py_IS_TYPE(place, bound.view) || SLOT(place, bound.overlapping) != Py_False ||
        !fits(ct, SLOT(place, bound.part_shape), SLOT(place, bound.part_dtype)))
        return accumulate_by_python(place, ct);
    PyObject *region = region_of(place);
    if (region == NULL)
        return -1;
    PyObject *sum = PyNumber_InPlaceAdd(region, ct);
    Py_DECREF(region);
    Py_XDECREF(sum);
    return sum == NULL ? -1 : 0;
}

/* Add to one element of a region. */
static int add_at(PyObject *region, PyObject *key, PyObject *ct)
{
    double *at = steps_is_index(key) ? steps_element(region, key) : NULL;
    if (at != NULL && Py_IS_TYPE(ct, &PyDoubleArrType_Type) && PyArray_ISWRITEABLE((PyArrayObject *)region)) {
        *at += PyArrayScalar_VAL(ct, Double);
        return 0;
    }
    PyObject *before = PyObject_GetItem(region, key);
    PyObject *sum = before == NULL ? NULL : PyNumber_InPlaceAdd(before, ct);
    int failed = sum == NULL ? -1 : PyObject_SetItem(region, key, sum);
    Py_XDECREF(before);
    Py_XDECREF(sum);
    return failed;
}

static int push_operand(PyObject *rule, Py_ssize_t number, PyObject *place, PyObject *ct, PyObject *output, PyObject *x,
                        PyObject *y)
{
    PyObject *pull = PyTuple_GET_ITEM(SLOT(rule, bound.per_argument), number);
    PyObject *cotangent = pulled(pull, ct, output, x, y);
    if (cotangent == NULL)
        return -1;
    int failed = cotangent == Py_None ? 0 : accumulate(place, cotangent);
    Py_DECREF(cotangent);
    return failed;
}

/* The pull of an entry that bore a root, given the cotangent that lay there. */
static int push_birth(PyObject *entry, PyObject *ct)
{
    if (Py_IS_TYPE(entry, bound.element_read)) {
        PyObject *region = region_of(SLOT(entry, bound.read_parent));
        int failed = region == NULL ? -1 : add_at(region, SLOT(entry, bound.read_key), ct);
        Py_XDECREF(region);
        return failed;
    }
    PyObject *output = SLOT(entry, bound.output);
    if (Py_IS_TYPE(entry, bound.one))
        return push_operand(SLOT(entry, bound.one_rule), 0, SLOT(entry, bound.one_place), ct, output,
                            SLOT(entry, bound.one_x), NULL);
    PyObject *rule = SLOT(entry, bound.pair_rule), *x = SLOT(entry, bound.pair_x), *y = SLOT(entry, bound.pair_y);
    PyObject *place = SLOT(entry, bound.pair_x_place);
    if (place != Py_None && push_operand(rule, 0, place, ct, output, x, y) < 0)
        return -1;
    place = SLOT(entry, bound.pair_y_place);
    return place == Py_None ? 0 : push_operand(rule, 1, place, ct, output, x, y);
}

/* Say in the error of a pull which operation it belongs to (`log.blame`). */
static void blame(PyObject *entry)
{
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyErr_NormalizeException(&kind, &error, &traceback);
    if (traceback != NULL)
        PyException_SetTraceback(error, traceback);
    if (PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        PyObject *done = PyObject_CallFunctionObjArgs(bound.blame, entry, error, NULL);
        if (done == NULL)
            PyErr_Clear();
        Py_XDECREF(done);
    }
    PyErr_Restore(kind, error, traceback);
}

/* What became of an entry: nothing yet, an error before it was undone or after, or all. */
typedef enum { LEFT, FAILED, FAILED_AFTER_UNDO, DONE } Step;

static Step walk_birth(PyObject *entry)
{
    PyObject *root = SLOT(entry, bound.out);
    if (!Py_IS_TYPE(root, bound.root))
        return LEFT;
    PyObject *ct = SLOT(root, bound.shadow);
    if (ct == Py_None)
        return DONE;
    SLOT(root, bound.shadow) = Py_NewRef(Py_None);
    int failed = push_birth(entry, ct);
    if (failed)
        blame(entry);
    Py_DECREF(ct);
    return failed ? FAILED_AFTER_UNDO : DONE;
}

/* After the undo of a write: hand the cotangent on, and forget what lay there before the first one that carried any. */
static Step end_write(PyObject *entry, PyObject *ct)
{
    PyObject *source = SLOT(entry, bound.source);
    if (ct != NULL && source != Py_None && accumulate(source, ct) < 0) {
        blame(entry);
        return FAILED_AFTER_UNDO;
    }
    if (SLOT(entry, bound.activates) != Py_True)
        return DONE;
    PyObject *done = PyObject_CallMethodNoArgs(entry, names.forget_before);
    Py_XDECREF(done);
    return done == NULL ? FAILED_AFTER_UNDO : DONE;
}

static Step walk_element_write(PyObject *entry)
{
    PyObject *parent = SLOT(entry, bound.write_parent), *key = SLOT(entry, bound.write_key);
    PyObject *array = SLOT(entry, bound.array), *saved = SLOT(entry, bound.saved), *root = steps_root(parent);
    double *memory = steps_is_index(key) ? steps_element(array, key) : NULL;
    if (root == NULL || memory == NULL || !Py_IS_TYPE(saved, &PyDoubleArrType_Type) ||
        !PyArray_ISWRITEABLE((PyArrayObject *)array))
        return LEFT;
    PyObject *ct = NULL;
    if (SLOT(root, bound.shadow) != Py_None) {
        PyObject *region = region_of(parent);
        double *at = region == NULL ? NULL : steps_element(region, key);
        if (at == NULL || !PyArray_ISWRITEABLE((PyArrayObject *)region)) {
            Py_XDECREF(region);
            return PyErr_Occurred() ? FAILED : LEFT;
        }
        ct = PyArrayScalar_New(Double);
        if (ct != NULL) {
            PyArrayScalar_ASSIGN(ct, Double, *at);
            *at = 0;
        }
        Py_DECREF(region);
        if (ct == NULL)
            return FAILED;
    }
    PyObject *written = PyArrayScalar_New(Double);
    if (written == NULL) {
        Py_XDECREF(ct);
        return FAILED;
    }
    PyArrayScalar_ASSIGN(written, Double, *memory);
    *memory = PyArrayScalar_VAL(saved, Double);
    set_slot(entry, bound.saved, written);
    Step step = end_write(entry, ct);
    Py_XDECREF(ct);
    return step;
}

static Step walk_write(PyObject *entry)
{
    PyObject *out = SLOT(entry, bound.out), *saved = SLOT(entry, bound.saved), *key = SLOT(entry, bound.write_key);
    PyObject *root = out == NULL || !Py_IS_TYPE(out, bound.view) ? NULL : steps_root(out);
    if (root == NULL || SLOT(out, bound.overlapping) != Py_False || key == Py_Ellipsis || !PyArray_CheckExact(saved) ||
        !PyArray_CheckExact(SLOT(entry, bound.array)))
        return LEFT;
    PyObject *shown = PyObject_GetItem(SLOT(entry, bound.array), key), *region = NULL, *ct = NULL, *written = NULL;
    Step step = FAILED;
    if (shown == NULL)
        return FAILED;
    if (!PyArray_CheckExact(shown) || !PyArray_ISWRITEABLE((PyArrayObject *)shown)) {
        Py_DECREF(shown);
        return LEFT;
    }
    if (SLOT(root, bound.shadow) != Py_None) {
        region = region_of(out);
        if (region == NULL)
            goto done;
        if (!PyArray_CheckExact(region)) {
            step = LEFT;
            goto done;
        }
    }
    written = PyArray_NewCopy((PyArrayObject *)shown, NPY_CORDER);
    ct = region == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)region, NPY_CORDER);
    PyObject *zero = PyLong_FromLong(0);
    if (written == NULL || zero == NULL || (region != NULL && ct == NULL) ||
        (region != NULL && PyArray_FillWithScalar((PyArrayObject *)region, zero) < 0) ||
        PyArray_CopyInto((PyArrayObject *)shown, (PyArrayObject *)saved) < 0)
        goto done;
    set_slot(entry, bound.saved, Py_NewRef(written));
    step = end_write(entry, ct);
done:
    Py_XDECREF(written);
    Py_XDECREF(ct);
    Py_XDECREF(region);
    Py_DECREF(shown);
    return step;
}

static Step walk_entry(PyObject *entry)
{
    PyTypeObject *type = Py_TYPE(entry);
    if (type == bound.pair || type == bound.element_read || type == bound.one)
        return walk_birth(entry);
    if (type == bound.element_write)
        return walk_element_write(entry);
    return type == bound.write ? walk_write(entry) : LEFT;
}

/* `walk(context, log, number)`: walk back from entry `number`; the number of the first entry that is left. */
PyObject *steps_walk(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "walk(context, log, number)");
        return NULL;
    }
    PyObject *context = arguments[0], *log = arguments[1];
    Py_ssize_t first = PyLong_AsSsize_t(arguments[2]), number = first;
    if (!bound.ready || !PyList_CheckExact(log) || number >= PyList_GET_SIZE(log))
        return Py_NewRef(arguments[2]);
    PyObject *memory = steps_attribute(context, names.memory);
    if (memory == NULL || !Py_IS_TYPE(memory, bound.array_memory))
        return Py_NewRef(arguments[2]);
    Step step = DONE;
    while (number >= 0 && first - number < STRETCH) {
        PyObject *entry = Py_NewRef(PyList_GET_ITEM(log, number));
        step = walk_entry(entry);
        Py_DECREF(entry);
        if (step == LEFT || step == FAILED)
            break;
        number--;
        if (step == FAILED_AFTER_UNDO)
            break;
    }
    if (number < first) {
        PyObject *kind, *error, *traceback, *undone = PyLong_FromSsize_t(number + 1);
        PyErr_Fetch(&kind, &error, &traceback);
        int failed = undone == NULL ? -1 : PyObject_SetAttr(context, names.undone_from, undone);
        Py_XDECREF(undone);
        if (failed)
            return NULL;
        PyErr_Restore(kind, error, traceback);
    }
    return step == FAILED || step == FAILED_AFTER_UNDO ? NULL : PyLong_FromSsize_t(number);
}
