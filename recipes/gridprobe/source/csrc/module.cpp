// SPDX-License-Identifier: Apache-2.0
// The Python module object. Importing it loads the library, whose static initializers register the
// operators; the module itself only tells what was compiled in.

#include <Python.h>

namespace {

int exec_module(PyObject* module) {
  if (PyModule_AddStringConstant(module, "ACCELERATOR", GRIDPROBE_ACCELERATOR) < 0) {
    return -1;
  }
  return PyModule_AddStringConstant(module, "ARCHITECTURES", GRIDPROBE_ARCHITECTURES);
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(exec_module)},
    {0, nullptr},
};

PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "gridprobe._C",
    .m_doc = nullptr,
    .m_size = 0,
    .m_methods = nullptr,
    .m_slots = slots,
    .m_traverse = nullptr,
    .m_clear = nullptr,
    .m_free = nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit__C() {
  return PyModuleDef_Init(&definition);
}
