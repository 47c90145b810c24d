/* Cotangents: what pulls give of them, and how they are added into shadows. */
#include "steps.h"

/* What the book's pulls of arithmetic compute, of real operands (`bridge.in_c.SHORTCUTS` names the functions). */
typedef enum { CALLED, SAME, NEGATED, TIMES_Y, TIMES_X, OVER_Y, OF_DIVISOR, OF_BASE, VECTORS_Y, VECTORS_X } Shortcut;

static bool is_real(PyObject *thing)
{
    if (!PyArray_CheckExact(thing))
        return steps_is_number(thing);
    int type = PyArray_TYPE((PyArrayObject *)thing);
    return PyTypeNum_ISFLOAT(type) || PyTypeNum_ISINTEGER(type);
}

/* Whether an operand is a vector of double precision, or what looks like one. */
static bool is_vector(PyObject *thing)
{
    if (PyArray_CheckExact(thing))
        return PyArray_NDIM((PyArrayObject *)thing) == 1 && PyArray_TYPE((PyArrayObject *)thing) == NPY_DOUBLE;
    return Py_IS_TYPE(thing, bound.shaped) && PyTuple_GET_SIZE(SLOT(thing, bound.shaped_shape)) == 1 &&
           ((PyArray_Descr *)SLOT(thing, bound.shaped_dtype))->type_num == NPY_DOUBLE;
}

static PyObject *doubled(PyObject *x)
{
    PyObject *two = PyLong_FromLong(2), *product = two == NULL ? NULL : PyNumber_Multiply(two, x);
    Py_XDECREF(two);
    return product;
}

/* The cotangent of an operand, as the pull gives it. */
PyObject *steps_pulled(PyObject *pull, PyObject *ct, PyObject *output, PyObject *x, PyObject *y)
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
    case VECTORS_Y:
        if (is_vector(x) && is_vector(y) && PyArray_CheckExact(y) && Py_IS_TYPE(ct, &PyDoubleArrType_Type))
            return PyNumber_Multiply(ct, y);
        break;
    case VECTORS_X:
        if (is_vector(x) && is_vector(y) && PyArray_CheckExact(x) && Py_IS_TYPE(ct, &PyDoubleArrType_Type))
            return PyNumber_Multiply(x, ct);
        break;
    default:
        break;
    }
    PyErr_Clear();
    PyObject *arguments[] = {ct, output, x, y};
    return PyObject_Vectorcall(pull, arguments, y == NULL ? 3 : 4, NULL);
}

/* The shadow of a place as an array that may be written (`Part.region`); a new reference. */
PyObject *steps_region(PyObject *place)
{
    if (Py_IS_TYPE(place, bound.view)) {
        PyObject *above = steps_region(SLOT(place, bound.parent));
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
bool steps_fits(PyObject *ct, PyObject *shape, PyObject *dtype)
{
    if (Py_IS_TYPE(ct, &PyDoubleArrType_Type))
        return PyTuple_GET_SIZE(shape) == 0 && ((PyArray_Descr *)dtype)->type_num == NPY_DOUBLE &&
               PyDataType_ISNOTSWAPPED((PyArray_Descr *)dtype);
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

int steps_accumulate_by_python(PyObject *place, PyObject *ct)
{
    PyObject *done = PyObject_CallMethodOneArg(place, names.accumulate, ct);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

void steps_set(PyObject *object, Py_ssize_t offset, PyObject *value)
{
    PyObject *before = SLOT(object, offset);
    SLOT(object, offset) = value;
    Py_XDECREF(before);
}

/* `Root.accumulate`. */
static int accumulate_root(PyObject *root, PyObject *ct)
{
    PyObject *shadow = SLOT(root, bound.shadow), *owned = SLOT(root, bound.owned), *sum;
    if (!steps_fits(ct, SLOT(root, bound.shape), SLOT(root, bound.dtype)))
        return steps_accumulate_by_python(root, ct);
    if (shadow == Py_None) {
        steps_set(root, bound.shadow, Py_NewRef(ct));
        steps_set(root, bound.owned, Py_NewRef(Py_False));
        return 0;
    }
    bool is_owned = owned != Py_False;
    if (!is_owned && PyTuple_GET_SIZE(SLOT(root, bound.shape)) == 0)
        sum = PyNumber_Add(shadow, ct);
    else {
        /* Held by the root alone, and on memory of its own: `roots.is_held_alone`. */
        bool alone = Py_REFCNT(shadow) == 1 && PyArray_CheckExact(shadow) &&
                     PyArray_BASE((PyArrayObject *)shadow) == NULL && PyArray_ISWRITEABLE((PyArrayObject *)shadow);
        if (!is_owned && !alone)
            return steps_accumulate_by_python(root, ct);
        if (!is_owned)
            steps_set(root, bound.owned, Py_NewRef(Py_True));
        Py_INCREF(shadow);
        sum = PyNumber_InPlaceAdd(shadow, ct);
        Py_DECREF(shadow);
    }
    if (sum == NULL)
        return -1;
    steps_set(root, bound.shadow, sum);
    return 0;
}

/* The same for a root or a view; false for places that are left to Python. */
bool steps_fits_place(PyObject *ct, PyObject *place)
{
    if (steps_root(place) == place)
        return steps_fits(ct, SLOT(place, bound.shape), SLOT(place, bound.dtype));
    return Py_IS_TYPE(place, bound.view) &&
           steps_fits(ct, SLOT(place, bound.part_shape), SLOT(place, bound.part_dtype));
}

/* Write zeros. */
int steps_clear_array(PyArrayObject *array)
{
    PyObject *zero = PyLong_FromLong(0);
    int failed = zero == NULL ? -1 : PyArray_FillWithScalar(array, zero);
    Py_XDECREF(zero);
    return failed;
}

/* Add a cotangent to the shadow of a place. */
int steps_accumulate(PyObject *place, PyObject *ct)
{
    if (steps_root(place) == place)
        return accumulate_root(place, ct);
    if (!Py_IS_TYPE(place, bound.view) || SLOT(place, bound.overlapping) != Py_False ||
        !steps_fits(ct, SLOT(place, bound.part_shape), SLOT(place, bound.part_dtype)))
        return steps_accumulate_by_python(place, ct);
    PyObject *region = steps_region(place);
    if (region == NULL)
        return -1;
    PyObject *sum = PyNumber_InPlaceAdd(region, ct);
    Py_DECREF(region);
    Py_XDECREF(sum);
    return sum == NULL ? -1 : 0;
}

/* Add to one element of a region. */
int steps_add_at(PyObject *region, PyObject *key, PyObject *ct)
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
