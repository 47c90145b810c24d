/* Reads of elements and of views: `Buffer.__getitem__`, and what it logs. */
#include "steps.h"

static bool is_bound(PyObject *thing)
{
    return thing == Py_None || PyLong_CheckExact(thing) || PyArray_IsScalar(thing, Integer);
}

static bool is_plain_slice(PyObject *key)
{
    PySliceObject *slice = (PySliceObject *)key;
    return PySlice_Check(key) && is_bound(slice->start) && is_bound(slice->stop) && is_bound(slice->step);
}

/* Whether a key gives a view, unless it is an integer for each axis: integers, slices of these, None, an ellipsis. */
bool steps_is_view(PyObject *key)
{
    if (is_plain_slice(key) || PyLong_CheckExact(key))
        return true;
    if (!PyTuple_CheckExact(key))
        return false;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++) {
        PyObject *part = PyTuple_GET_ITEM(key, k);
        if (!is_bound(part) && part != Py_Ellipsis && !is_plain_slice(part))
            return false;
    }
    return true;
}

Py_ssize_t steps_depth(PyObject *place)
{
    return Py_IS_TYPE(place, bound.view) ? PyLong_AsSsize_t(SLOT(place, bound.depth)) : 0;
}

/* The place of the view `shown`, which `key` gives of `parent`. */
PyObject *steps_view(PyObject *parent, PyObject *key, PyArrayObject *shown)
{
    bool is_part = Py_IS_TYPE(parent, bound.view);
    PyObject *place = steps_make(bound.view);
    if (place == NULL)
        return NULL;
    SLOT(place, bound.parent) = Py_NewRef(parent);
    SLOT(place, bound.depth) = PyLong_FromSsize_t(steps_depth(parent) + 1);
    SLOT(place, bound.key) = Py_NewRef(key);
    SLOT(place, bound.overlapping) = Py_NewRef(is_part ? SLOT(parent, bound.overlapping) : Py_False);
    SLOT(place, bound.part_root) = Py_NewRef(steps_root(parent));
    SLOT(place, bound.top) = Py_NewRef(is_part ? SLOT(parent, bound.top) : parent);
    SLOT(place, bound.part_shape) = PyArray_IntTupleFromIntp(PyArray_NDIM(shown), PyArray_DIMS(shown));
    SLOT(place, bound.part_dtype) = Py_NewRef((PyObject *)PyArray_DESCR(shown));
    if (SLOT(place, bound.depth) == NULL || SLOT(place, bound.part_shape) == NULL)
        Py_CLEAR(place);
    return place;
}

/* `Lean.element`: one number, read at an index of integers. */
static PyObject *read_element(PyObject *context, PyObject *place, PyObject *key, double number)
{
    PyObject *active = steps_active(place), *position = NULL;
    if (active == NULL)
        return NOT_HERE;
    if (active == Py_True) {
        position = steps_position();
        if (position == NULL || position == NOT_HERE)
            return position;
    }
    PyObject *value = PyArrayScalar_New(Double), *tracked = NULL, *entry = NULL;
    if (value == NULL)
        goto done;
    PyArrayScalar_ASSIGN(value, Double, number);
    tracked = steps_scalar(context, value, active);
    if (tracked == NULL || active == Py_False)
        goto done;
    entry = steps_make_entry(bound.element_read);
    if (entry != NULL) {
        SLOT(entry, bound.out) = Py_NewRef(SLOT(tracked, bound.place));
        SLOT(entry, bound.position) = Py_NewRef(position);
        SLOT(entry, bound.read_parent) = Py_NewRef(place);
        SLOT(entry, bound.read_key) = Py_NewRef(key);
    }
    if (entry == NULL || steps_log(context, entry) < 0)
        Py_CLEAR(tracked);
done:
    Py_XDECREF(entry);
    Py_XDECREF(value);
    Py_XDECREF(position);
    return tracked;
}

/* Whether an index of integers names one element. */
static bool is_whole_index(PyObject *key, PyObject *array)
{
    return PyArray_NDIM((PyArrayObject *)array) == (PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1);
}

/* `Buffer.__getitem__` of elements and views; NOT_HERE for all else. */
PyObject *steps_getitem(PyObject *self, PyObject *key)
{
    PyObject *place = SLOT(self, bound.place), *array = SLOT(self, bound.value);
    PyObject *context = steps_context_of(place);
    if (context == NULL || !PyArray_CheckExact(array) || steps_depth(place) > bound.deep || !steps_is_lean(context))
        return NOT_HERE;
    if (steps_is_index(key)) {
        double *at = steps_element(array, key);
        if (at != NULL)
            return read_element(context, place, key, *at);
        if (is_whole_index(key, array) && PyArray_ISINTEGER((PyArrayObject *)array))
            return PyObject_GetItem(array, key); /* integers carry no gradient, and are not tracked */
    } else if (!steps_is_view(key))
        return NOT_HERE;
    PyObject *shown = PyObject_GetItem(array, key);
    if (shown == NULL)
        return NULL;
    PyObject *part = NULL, *buffer = NULL;
    if (!PyArray_CheckExact(shown)) {
        Py_DECREF(shown);
        return NOT_HERE;
    }
    part = steps_view(place, key, (PyArrayObject *)shown);
    if (part != NULL && (buffer = steps_make(bound.buffer)) != NULL) {
        SLOT(buffer, bound.value) = Py_NewRef(shown);
        SLOT(buffer, bound.place) = Py_NewRef(part);
    }
    if (buffer != NULL && steps_is_borrowed(steps_root(place))) {
        PyObject *done = PyObject_CallMethodOneArg(steps_root(place), names.note, buffer);
        if (done == NULL)
            Py_CLEAR(buffer);
        Py_XDECREF(done);
    }
    Py_XDECREF(part);
    Py_DECREF(shown);
    return buffer;
}
