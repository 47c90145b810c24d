/* Writes of elements and of views: `assignment.assign`, `Ownership.writable`, and what these log. */
#include "steps.h"

/* Whether `Ownership.writable` would find nothing but a number to count up. */
static bool is_plainly_writable(PyObject *context, PyObject *root)
{
    PyObject *current = NULL;
    if (PyContextVar_Get(bound.current, NULL, &current) < 0)
        PyErr_Clear();
    bool same = current == context;
    Py_XDECREF(current);
    PyObject *merged = SLOT(context, bound.merged);
    if (!same || merged == NULL || !PyDict_CheckExact(merged) || PyDict_GET_SIZE(merged) != 0)
        return false;
    if (Py_IS_TYPE(root, bound.root))
        return true;
    PyObject *shared = SLOT(root, bound.shared_by);
    return SLOT(root, bound.written) == Py_True && PyTuple_CheckExact(shared) && PyTuple_GET_SIZE(shared) == 0;
}

/* `Ownership.writable`: raises if the memory of `target` may not be written. */
int steps_writable(PyObject *context, PyObject *target, PyObject *root)
{
    if (!is_plainly_writable(context, root)) {
        PyObject *done = PyObject_CallMethodOneArg(context, names.writable, target);
        Py_XDECREF(done);
        return done == NULL ? -1 : 0;
    }
    PyObject *before = SLOT(context, bound.writes), *writes = PyLong_FromSsize_t(PyLong_AsSsize_t(before) + 1);
    if (writes == NULL)
        return -1;
    SLOT(context, bound.writes) = writes;
    Py_DECREF(before);
    return 0;
}

/* An entry of what was written: `array[key]`, which held `saved`. */
static PyObject *write_entry(PyTypeObject *type, PyObject *position, PyObject *array, PyObject *key, PyObject *saved,
                             PyObject *source, PyObject *root)
{
    PyObject *entry = steps_make_entry(type);
    if (entry == NULL)
        return NULL;
    bool activates = source != Py_None && SLOT(root, bound.active) != Py_True;
    SLOT(entry, bound.position) = Py_NewRef(position);
    SLOT(entry, bound.array) = Py_NewRef(array);
    SLOT(entry, bound.write_key) = Py_NewRef(key);
    SLOT(entry, bound.saved) = Py_NewRef(saved);
    SLOT(entry, bound.source) = Py_NewRef(source);
    SLOT(entry, bound.activates) = Py_NewRef(activates ? Py_True : Py_False);
    return entry;
}

static int log_write(PyObject *context, PyObject *entry, PyObject *source, PyObject *root)
{
    if (steps_log(context, entry) < 0)
        return -1;
    if (source != Py_None) {
        PyObject *before = SLOT(root, bound.active);
        SLOT(root, bound.active) = Py_NewRef(Py_True);
        Py_DECREF(before);
    }
    return 0;
}

/* What a write takes from a value: its number or array, and its place if it carries a gradient; both borrowed. */
typedef struct {
    PyObject *value, *place, *source;
} Written;

static bool read_written(PyObject *context, PyObject *thing, Written *written)
{
    written->value = thing;
    written->place = NULL;
    written->source = Py_None;
    if (!Py_IS_TYPE(thing, bound.scalar) && !Py_IS_TYPE(thing, bound.buffer))
        return PyFloat_CheckExact(thing) || Py_IS_TYPE(thing, &PyDoubleArrType_Type) ||
               (steps_is_plain_array(thing) && steps_is_apart(context, thing));
    written->value = SLOT(thing, bound.value);
    written->place = SLOT(thing, bound.place);
    PyObject *active = steps_active(written->place);
    if (active == NULL || steps_context_of(written->place) != context)
        return false;
    if (active == Py_True)
        written->source = written->place;
    return true;
}

/* `Lean.write_element`: one number, written at an index of integers. */
static int write_element(PyObject *self, PyObject *key, Written *written)
{
    PyObject *place = SLOT(self, bound.place), *root = steps_root(place), *context = SLOT(root, bound.context);
    double number = PyFloat_CheckExact(written->value) ? PyFloat_AS_DOUBLE(written->value)
                                                       : PyArrayScalar_VAL(written->value, Double);
    PyObject *position = steps_position();
    if (position == NULL || position == NOT_HERE)
        return position == NULL ? -1 : 1;
    int failed = steps_writable(context, self, root);
    PyObject *array = SLOT(self, bound.value), *entry = NULL;
    double *at = failed ? NULL : steps_element(array, key);
    PyObject *saved = at == NULL ? NULL : PyArrayScalar_New(Double);
    if (saved != NULL) {
        PyArrayScalar_ASSIGN(saved, Double, *at);
        entry = write_entry(bound.element_write, position, array, key, saved, written->source, root);
        Py_DECREF(saved);
    }
    if (entry != NULL) {
        SLOT(entry, bound.write_parent) = Py_NewRef(place);
        *at = number;
        failed = log_write(context, entry, written->source, root);
        Py_DECREF(entry);
    } else
        failed = -1;
    Py_DECREF(position);
    return failed;
}

/* `Context.write` into a view. */
static int write_view(PyObject *self, PyObject *key, Written *written)
{
    PyObject *place = SLOT(self, bound.place), *root = steps_root(place), *context = SLOT(root, bound.context);
    PyObject *shown = PyObject_GetItem(SLOT(self, bound.value), key);
    if (shown == NULL)
        return -1;
    PyObject *position = NULL, *part = NULL, *saved = NULL, *entry = NULL;
    int failed = 1;
    if (!PyArray_CheckExact(shown))
        goto done;
    position = steps_position();
    if (position == NOT_HERE) {
        position = NULL;
        goto done;
    }
    failed = -1;
    part = position == NULL ? NULL : steps_view(place, key, (PyArrayObject *)shown);
    if (part == NULL || steps_writable(context, self, root) < 0)
        goto done;
    saved = PyArray_NewCopy((PyArrayObject *)shown, NPY_CORDER);
    if (saved == NULL)
        goto done;
    entry = write_entry(bound.write, position, SLOT(self, bound.value), key, saved, written->source, root);
    if (entry == NULL)
        goto done;
    SLOT(entry, bound.out) = Py_NewRef(part);
    if (PyObject_SetItem(SLOT(self, bound.value), key, written->value) < 0) {
        /* What Python says of it, it says of memory that was not written yet. */
        PyErr_Clear();
        failed = PyArray_CopyInto((PyArrayObject *)shown, (PyArrayObject *)saved) < 0 ? -1 : 1;
        goto done;
    }
    failed = log_write(context, entry, written->source, root);
done:
    Py_DECREF(shown);
    Py_XDECREF(position);
    Py_XDECREF(part);
    Py_XDECREF(saved);
    Py_XDECREF(entry);
    return failed;
}

/* Whether an augmented assignment stores the view that it has just updated (`assignment._is_this_part`). */
static bool is_this_part(PyObject *place, PyObject *key, PyObject *value)
{
    if (!Py_IS_TYPE(value, bound.buffer))
        return false;
    PyObject *part = SLOT(value, bound.place);
    if (!Py_IS_TYPE(part, bound.view) || SLOT(part, bound.parent) != place || !steps_is_view(key))
        return false;
    PyObject *own = SLOT(part, bound.key);
    return own == key ||
           (steps_is_view(own) && Py_TYPE(own) == Py_TYPE(key) && PyObject_RichCompareBool(own, key, Py_EQ) == 1);
}

/* `Buffer.__setitem__` of elements and views: 0 if it is done, -1 with an exception, 1 for all else. */
int steps_setitem(PyObject *self, PyObject *key, PyObject *value)
{
    PyObject *place = SLOT(self, bound.place), *array = SLOT(self, bound.value), *root = steps_root(place);
    Written written;
    if (root == NULL || !PyArray_CheckExact(array) || steps_depth(place) > bound.deep)
        return 1;
    PyObject *context = SLOT(root, bound.context);
    if (steps_is_borrowed(root))
        return 1;
    if (is_this_part(place, key, value))
        return steps_is_lean(context) ? 0 : 1;
    if (!PyArray_ISWRITEABLE((PyArrayObject *)array) || !PyArray_ISFLOAT((PyArrayObject *)array) ||
        !steps_is_lean(context) || steps_is_handed_out(context, place) || !read_written(context, value, &written))
        return 1;
    bool is_number = !PyArray_CheckExact(written.value);
    if (steps_is_index(key) && steps_element(array, key) != NULL) {
        if (!PyFloat_CheckExact(written.value) && !Py_IS_TYPE(written.value, &PyDoubleArrType_Type))
            return 1;
        return write_element(self, key, &written);
    }
    if (!steps_is_view(key))
        return 1;
    if (is_number)
        return written.place == NULL || Py_IS_TYPE(written.value, &PyDoubleArrType_Type)
                   ? write_view(self, key, &written)
                   : 1;
    if ((written.place != NULL && steps_root(written.place) == root) ||
        PyArray_DESCR((PyArrayObject *)written.value) != PyArray_DESCR((PyArrayObject *)array))
        return 1;
    return write_view(self, key, &written);
}
