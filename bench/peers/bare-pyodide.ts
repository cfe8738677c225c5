// What a program costs in Pyodide as it comes: loaded by Node, without a sandbox and without an image of its memory.
import { loadPyodide } from 'pyodide';

const python = await loadPyodide();
python.runPython(process.argv[2] ?? '');
