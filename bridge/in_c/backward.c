/* The walk back over the commonest entries: take, undo, push, as `Context.rewind` says it. */
#include "steps.h"

/* How many entries are walked before Python is asked again, which handles signals and lets other threads run. */
enum { STRETCH = 256 };

static int push_operand(PyObject *rule, Py_ssize_t number, PyObject *place, PyObject *ct, PyObject *output, PyObject *x,
                        PyObject *y)
{
    PyObject *pull = PyTuple_GET_ITEM(SLOT(rule, bound.per_argument), number);
    PyObject *cotangent = steps_pulled(pull, ct, output, x, y);
    if (cotangent == NULL)
        return -1;
    int failed = cotangent == Py_None ? 0 : steps_accumulate(place, cotangent);
    Py_DECREF(cotangent);
    return failed;
}

/* The pull of an entry that bore a root, given the cotangent that lay there. */
static int push_birth(PyObject *entry, PyObject *ct)
{
    if (Py_IS_TYPE(entry, bound.element_read)) {
        PyObject *region = steps_region(SLOT(entry, bound.read_parent));
        int failed = region == NULL ? -1 : steps_add_at(region, SLOT(entry, bound.read_key), ct);
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
void steps_blame(PyObject *entry)
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
        steps_blame(entry);
    Py_DECREF(ct);
    return failed ? FAILED_AFTER_UNDO : DONE;
}

/* Forget what lay at a place before the first write there that carried a gradient. */
Step steps_forgotten(PyObject *entry, Py_ssize_t activates)
{
    if (SLOT(entry, activates) != Py_True)
        return DONE;
    PyObject *done = PyObject_CallMethodNoArgs(entry, names.forget_before);
    Py_XDECREF(done);
    return done == NULL ? FAILED_AFTER_UNDO : DONE;
}

/* After the undo of a write: hand the cotangent on. */
static Step end_write(PyObject *entry, PyObject *ct)
{
    PyObject *source = SLOT(entry, bound.source);
    if (ct != NULL && source != Py_None && steps_accumulate(source, ct) < 0) {
        steps_blame(entry);
        return FAILED_AFTER_UNDO;
    }
    return steps_forgotten(entry, bound.activates);
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
        PyObject *region = steps_region(parent);
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
    steps_set(entry, bound.saved, written);
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
        region = steps_region(out);
        if (region == NULL)
            goto done;
        if (!PyArray_CheckExact(region)) {
            step = LEFT;
            goto done;
        }
    }
    written = PyArray_NewCopy((PyArrayObject *)shown, NPY_CORDER);
    ct = region == NULL ? NULL : PyArray_NewCopy((PyArrayObject *)region, NPY_CORDER);
    if (written == NULL || (region != NULL && ct == NULL) ||
        (region != NULL && steps_clear_array((PyArrayObject *)region) < 0) ||
        PyArray_CopyInto((PyArrayObject *)shown, (PyArrayObject *)saved) < 0)
        goto done;
    steps_set(entry, bound.saved, Py_NewRef(written));
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
    if (type == bound.operation)
        return steps_walk_operation(entry);
    if (type == bound.update)
        return steps_walk_update(entry);
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
