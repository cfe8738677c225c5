/** What both programs begin with. Their value is the list of what worked. */
const BEGIN = String.raw`
_broke = []

def _try(name):
    def attempt(attack):
        try:
            if attack():
                _broke.append(name)
        except BaseException:
            pass
    return attempt

`;

/** Ways out that are known of interpreters like this one. In place of `PORT`: something that listens on 127.0.0.1. */
const WAYS_OUT = String.raw`
import os

@_try('the host\'s globals by import js')
def _():
    import js
    return any(hasattr(js, name) for name in ('process', 'require', 'fetch', 'globalThis', 'Function'))

@_try('code of the host\'s language by run_js')
def _():
    from pyodide.code import run_js
    return run_js('1 + 1') == 2

@_try('code of the host\'s language by a constructor')
def _():
    from pyodide.ffi import to_js
    return to_js([1]).constructor.constructor('return 1')() == 1

@_try('the interpreter\'s own interface')
def _():
    import pyodide_js
    return any(hasattr(pyodide_js, name) for name in ('FS', '_module', 'runPython', 'mountNodeFS', 'loadPackage'))

@_try('a file of the host')
def _():
    return any(open(path).read() for path in ('/etc/passwd', '/etc/hostname', '/proc/self/environ'))

@_try('a connection')
def _():
    import socket
    with socket.create_connection(('127.0.0.1', PORT), 1) as connection:
        return connection.recv(1) is not None

@_try('a process')
def _():
    import subprocess
    return subprocess.run(['id'])

@_try('a process by fork')
def _():
    return os.fork() >= 0

@_try('the environment')
def _():
    return set(os.environ) - {'HOME', 'MPLBACKEND', 'PATH', 'PYTHONINSPECT', 'LD_LIBRARY_PATH', 'USER', 'LOGNAME', 'PWD', 'LANG', '_', 'TERM', 'LC_CTYPE', 'PYTHONHASHSEED'}

_broke
`;

/** In place of `MEMORY_MB`: what programs may have. */
const MEMORY = String.raw`
@_try('memory beyond the limit')
def _():
    blocks = []
    try:
        for _ in range(MEMORY_MB // 16 + 4):
            blocks.append(bytearray(16 << 20))
        return True
    finally:
        blocks.clear()

_broke
`;

/** Python that attacks the sandbox from within, before any other program runs. The second may end its process: then it is contained. */
export const pythonAttacks = ({ port, memoryMb }: { readonly port: number; readonly memoryMb: number }) => ({
  waysOut: BEGIN + WAYS_OUT.replaceAll('PORT', String(port)),
  memory: BEGIN + MEMORY.replaceAll('MEMORY_MB', String(memoryMb)),
});
