// Runs a program in Pyodide as it is published: loaded by Node, without a sandbox and without a memory snapshot.
import { loadPyodide } from 'pyodide';

const python = await loadPyodide();
python.runPython(process.argv[2] ?? '');
