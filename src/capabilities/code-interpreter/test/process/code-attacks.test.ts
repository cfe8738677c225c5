// Sandbox escapes known from public incidents of similar interpreters. A program tries each of them in a real
// container. The table in docs/security.md names these tests.
import assert from 'node:assert/strict';
import { writeFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { CodeContainer, CodeOutput } from '../../../../core/server-tools.ts';
import { chooseSandboxes } from '../../choose-sandboxes.ts';
import { listEngineNames, openTestContainerEngine } from './__fixtures__/test-container-engine.ts';
import { openTestInterpreter, getStrictSkipReason } from './__fixtures__/test-interpreter.ts';
import { openUnverifiedSandbox, type UnverifiedInterpreter } from './__fixtures__/unverified-sandbox.ts';

type CodeErrorType = NonNullable<CodeOutput['error']>['type'];

interface Attack {
  readonly name: string;
  readonly code: string;
  /** Expected value of the last expression, which contains what the program could reach. */
  readonly value?: string | RegExp;
  readonly error?: RegExp;
  /** Ways in which the container may be terminated instead. */
  readonly terminations?: readonly CodeErrorType[];
  /** Whether the sandbox has a part in stopping the attack. Others are stopped by the interpreter, alike at each level. */
  readonly dependsOnLevel?: boolean;
  /** Whether a later attack in the same container meets the interpreter as it was. */
  readonly leavesNoState?: boolean;
}

/** Whether each attack runs at each level, in a container of its own (PARLEY_TEST_FULL=1). */
const IS_FULL_RUN = process.env['PARLEY_TEST_FULL'] === '1';

/** Python function that calls another function, and returns its result or the name of its exception. */
const ATTEMPT = `
def attempt(work):
    try:
        return work()
    except BaseException as error:
        return 'refused: ' + type(error).__name__
`;

const ATTACKS: readonly Attack[] = [
  {
    name: 'import js reaches no object of the host',
    leavesNoState: true,
    code: `${ATTEMPT}
def reach():
    import js
    return [name for name in ('process', 'require', 'fetch', 'globalThis', 'Function', 'Object') if hasattr(js, name)]
attempt(reach)`,
    value: /^'refused: ModuleNotFoundError'$|^\[\]$/,
  },
  {
    name: 'pyodide_js has no functions of the interpreter',
    leavesNoState: true,
    code: `${ATTEMPT}
def reach():
    import pyodide_js, pyodide_js._api
    return [name for module in (pyodide_js, pyodide_js._api) for name in dir(module) if name in ('FS', '_module', 'runPython', 'mountNodeFS', 'loadPackage', 'rawRun')]
attempt(reach)`,
    value: '[]',
  },
  {
    name: 'run_js compiles nothing',
    leavesNoState: true,
    code: `${ATTEMPT}
def reach():
    from pyodide.code import run_js
    return run_js('1 + 1')
attempt(reach)`,
    value: /refused/,
  },
  {
    name: 'the C module of the interpreter runs no code of the host',
    leavesNoState: true,
    code: `${ATTEMPT}
def reach():
    import _pyodide_core
    found = [name for name in dir(_pyodide_core) if 'run' in name.lower() or 'eval' in name.lower()]
    return [attempt(lambda: getattr(_pyodide_core, name)('1 + 1')) for name in found]
str(attempt(reach)).count('2')`,
    value: '0',
  },
  {
    name: 'constructors of objects from the host compile nothing',
    leavesNoState: true,
    code: `${ATTEMPT}
from pyodide.ffi import to_js
def climb(start):
    return [attempt(lambda: start.constructor.constructor('return typeof process')()),
            attempt(lambda: start.constructor.constructor.constructor('return this')()),
            attempt(lambda: start.__proto__.constructor.constructor('return 1')())]
{result for start in (to_js([]), to_js({}), to_js(b'x'), to_js(lambda: 1)) for result in climb(start) if not str(result).startswith('refused')}`,
    value: 'set()',
  },
  {
    name: 'objects of the host in memory lead to no process',
    leavesNoState: true,
    code: `${ATTEMPT}
import gc
from pyodide.ffi import JsProxy
found = [thing for thing in gc.get_objects() if isinstance(thing, JsProxy)]
names = ('process', 'require', 'mainModule', 'binding', 'Deno', 'fetch', 'WebSocket')
[name for thing in found for name in names if attempt(lambda: getattr(thing, name)) not in (None,) and not str(attempt(lambda: getattr(thing, name))).startswith('refused')]`,
    value: '[]',
  },
  {
    name: 'polluted prototypes do not affect the process outside of the realm',
    code: `${ATTEMPT}
from pyodide.ffi import to_js
calls = []
def spy(*args):
    calls.append([str(type(arg)) for arg in args])
    return None
def pollute():
    root = to_js([]).constructor.prototype.__proto__
    for name in ('toJSON', 'get', 'value', 'then', 'constructor'):
        setattr(root, name, spy)
    to_js([]).constructor.prototype.push = spy
    return 'polluted'
first = attempt(pollute)
print('still here')
[attempt(lambda: thing) for thing in calls if 'process' in str(thing)]`,
    terminations: ['time', 'lost', 'output'],
    value: '[]',
  },
  {
    name: 'exceptions of the host call no code of the program',
    leavesNoState: true,
    code: `${ATTEMPT}
from pyodide.ffi import to_js, create_proxy
calls = []
def reach():
    error = to_js([]).constructor.constructor('return 1')
def spoil():
    from pyodide.ffi import JsException
    try:
        to_js([]).no.such.thing
    except BaseException as error:
        return str(error)
attempt(spoil)
calls`,
    value: '[]',
  },
  {
    name: 'subclasses and frames lead to nothing outside of Python',
    leavesNoState: true,
    code: `${ATTEMPT}
import sys
def walk():
    found = []
    for kind in object.__subclasses__():
        for name in ('_wrap_close', 'Popen', 'FileLoader'):
            if kind.__name__ == name:
                system = kind.__init__.__globals__.get('system') if hasattr(kind.__init__, '__globals__') else None
                if system:
                    found.append(attempt(lambda: system('id')))
    frame = sys._getframe()
    while frame:
        for secret in ('nonce', 'process'):
            if secret in frame.f_globals:
                found.append(secret)
        frame = frame.f_back
    return [each for each in found if not str(each).startswith('refused') and each not in (-1,)]
walk()`,
    value: '[]',
  },
  {
    name: 'a pickle runs no program of the host',
    leavesNoState: true,
    code: `${ATTEMPT}
import os, pickle
class Evil:
    def __reduce__(self):
        return (os.system, ('id > /tmp/owned',))
(attempt(lambda: pickle.loads(pickle.dumps(Evil()))) in (-1, 'refused: OSError'), os.path.exists('/tmp/owned'))`,
    value: /, False\)$/,
  },
  {
    name: 'ctypes calls nothing of the host',
    code: `${ATTEMPT}
import ctypes
def call(name):
    return getattr(ctypes.CDLL(None), name)
[name for name in ('emscripten_run_script', 'emscripten_run_script_int', 'emscripten_async_run_script', 'execve', 'system')
 if not str(attempt(lambda: call(name)(b'process.exit(7)', None, None))).startswith('refused') and attempt(lambda: call(name)(b'1', None, None)) not in (-1, 0)]`,
    value: '[]',
    // The interpreter crashes instead of compiling code.
    terminations: ['lost'],
  },
  {
    name: 'reading files of the host fails',
    leavesNoState: true,
    dependsOnLevel: true,
    code: `${ATTEMPT}
def read(path):
    with open(path, 'rb') as file:
        return file.read()[:40]
[path for path in ('SECRET', '/etc/passwd', '/etc/hostname', '/etc/shadow', '/root/.ssh/id_rsa', '/app/child/main.ts', '/node')
 if not str(attempt(lambda: read(path))).startswith('refused')]`,
    value: '[]',
  },
  {
    name: '/proc shows nothing of the host',
    leavesNoState: true,
    dependsOnLevel: true,
    code: `${ATTEMPT}
import os
def read(path):
    with open(path, 'rb') as file:
        return file.read()
paths = ['/proc/self/environ', '/proc/1/environ', f'/proc/{PARENT}/environ', f'/proc/{PARENT}/cmdline', '/proc/self/maps', '/proc/self/mem', '/proc/version', '/proc/net/tcp']
[path for path in paths if not str(attempt(lambda: read(path))).startswith('refused')]`,
    value: '[]',
  },
  {
    name: 'the environment of the service is not visible',
    leavesNoState: true,
    dependsOnLevel: true,
    code: `import os
sorted(name for name in os.environ if name.startswith('PARLEY') or 'KEY' in name or 'NODE' in name or name in ('SHELL', 'SSH_AUTH_SOCK'))`,
    value: '[]',
  },
  {
    name: 'opening or accepting connections fails',
    leavesNoState: true,
    dependsOnLevel: true,
    code: `${ATTEMPT}
import socket
def reach():
    with socket.create_connection(('127.0.0.1', PORT), 2) as connection:
        connection.sendall(b'x')
        return connection.recv(1)
def listen():
    server = socket.socket()
    server.bind(('0.0.0.0', 0))
    server.listen()
    server.settimeout(0.2)
    return server.accept()
def lookup():
    import urllib.request
    return urllib.request.urlopen('http://127.0.0.1:PORT/', timeout=2).read()
[str(attempt(work)).startswith('refused') for work in (reach, listen, lookup)]`,
    value: '[True, True, True]',
  },
  {
    name: 'the event loop opens no connection',
    leavesNoState: true,
    dependsOnLevel: true,
    code: `${ATTEMPT}
import asyncio
async def reach():
    reader, writer = await asyncio.open_connection('127.0.0.1', PORT)
    return await reader.read(1)
result = 'none'
try:
    result = await asyncio.wait_for(reach(), 3)
except BaseException as error:
    result = 'refused'
result`,
    value: `'refused'`,
  },
  {
    name: 'starting processes fails',
    dependsOnLevel: true,
    code: `${ATTEMPT}
import os, subprocess, multiprocessing
def pool():
    process = multiprocessing.Process(target=print)
    process.start()
    return process.pid
[str(attempt(work)).startswith('refused') or attempt(work) == -1 for work in
 (os.fork, lambda: subprocess.run(['id']), lambda: os.system('id'), lambda: os.execv('/node', ['/node']), pool)]`,
    value: '[True, True, True, True, True]',
  },
  {
    name: 'a fork bomb starts nothing',
    dependsOnLevel: true,
    code: `${ATTEMPT}
import os, threading
started = 0
for _ in range(1000):
    if not str(attempt(os.fork)).startswith('refused'):
        started += 1
    if not str(attempt(lambda: threading.Thread(target=print).start())).startswith('refused'):
        started += 1
started`,
    value: '0',
  },
  {
    name: 'an endless loop is stopped',
    dependsOnLevel: true,
    code: 'while True: pass',
    terminations: ['time'],
  },
  {
    name: 'a loop that catches all exceptions is stopped',
    code: `while True:
    try:
        while True: pass
    except BaseException:
        pass`,
    terminations: ['time'],
  },
  {
    name: 'an endless regular expression is stopped',
    code: `import re
re.match(r'(a*)*b', 'a' * 40)`,
    terminations: ['time'],
  },
  {
    name: 'allocating 10 GB at once fails',
    leavesNoState: true,
    code: 'len(b"x" * 10_000_000_000)',
    error: /MemoryError|OverflowError/,
  },
  {
    name: 'unlimited growth of memory fails',
    dependsOnLevel: true,
    code: `blocks = []
while True:
    blocks.append(bytearray(8 << 20))`,
    error: /MemoryError/,
    terminations: ['memory'],
  },
  {
    name: 'unlimited growth of files fails',
    dependsOnLevel: true,
    code: `with open('big', 'wb') as file:
    while True:
        file.write(bytes(8 << 20))
        file.flush()`,
    error: /MemoryError|OSError/,
    terminations: ['memory', 'lost', 'time'],
  },
  {
    name: 'an unlimited number of host objects fails',
    dependsOnLevel: true,
    code: `from pyodide.ffi import to_js
objects = []
while True:
    objects.append(to_js(bytes(8 << 20)))`,
    error: /.*/,
    terminations: ['memory', 'lost', 'time'],
  },
  {
    name: 'a decompression bomb fails',
    code: `import zlib
packed = zlib.compress(bytes(64 << 20))
for _ in range(100):
    packed = packed + b''
data = [zlib.decompress(packed) for _ in range(50)]`,
    error: /MemoryError/,
    terminations: ['memory'],
  },
  {
    name: 'endless recursion fails',
    code: `def f(n): return f(n + 1)
f(0)`,
    error: /RecursionError/,
    terminations: ['lost'],
  },
  {
    name: 'huge output is truncated',
    leavesNoState: true,
    code: `import sys
for _ in range(2000): print('x' * 10_000)
sys.stderr.write('y' * 5_000_000)
'end'`,
    value: `'end'`,
  },
  {
    name: 'a huge value is truncated',
    leavesNoState: true,
    code: `'x' * 20_000_000`,
    value: /^'x+$/,
  },
  {
    name: 'output of a program is never read as a protocol message',
    leavesNoState: true,
    code: `import json, sys
for stream in (sys.stdout, sys.stderr):
    stream.write('\\n' + json.dumps({'nonce': 'x', 'type': 'done', 'outcome': {'value': 'forged', 'isTruncated': False}}) + '\\n')
    stream.flush()
open('/dev/stdout', 'w').write(json.dumps({'nonce': 'x', 'type': 'done', 'outcome': {'value': 'forged', 'isTruncated': False}}) + '\\n')
import os
os.write(1, b'{"nonce":"x","type":"done","outcome":{"value":"forged"}}\\n')
'result'`,
    value: `'result'`,
  },
  {
    name: 'a link in the working folder returns no file',
    code: `import os
os.symlink('/lib/python314.zip', 'link.zip')
os.symlink('SECRET', 'secret.txt')
os.mkdir('folder')
os.symlink('/', 'folder/root')
'linked'`,
    value: `'linked'`,
  },
  {
    name: 'file names cannot leave their folder',
    code: `import os
os.makedirs('a/b', exist_ok=True)
for name in ('a/b/..c', '\\u202egnp.exe', 'con\\ntrol', 'x' * 200):
    open(name, 'w').write('x')
'written'`,
    value: `'written'`,
  },
  {
    name: 'files above the maximum count are omitted',
    code: `for number in range(500): open(f'{number}.txt', 'w').write('x')
'written'`,
    value: `'written'`,
  },
  {
    name: 'a program that exits the interpreter loses its container',
    dependsOnLevel: true,
    code: 'import os; os._exit(3)',
    terminations: ['lost'],
  },
  {
    name: 'a crash of the interpreter closes its container only',
    dependsOnLevel: true,
    code: 'import ctypes; ctypes.string_at(0xfffffff0)',
    terminations: ['lost'],
  },
  {
    name: 'a program that reports its end and keeps running is stopped',
    code: `import asyncio
Task = type(asyncio.current_task())
asyncio.Future.set_result(asyncio.current_task(), '{"value":"1","files":[],"isTruncated":false}')
async def on():
    while True: pass
asyncio.ensure_future(on())
await asyncio.sleep(1)`,
    // The forged report may arrive before the loop blocks the process; the process is suspended then.
    value: '1',
    terminations: ['time', 'lost'],
  },
  {
    name: 'a value that a program enlarges beyond the maximum is truncated',
    code: `import json
json.dumps = lambda *a, **k: '{"value":"' + 'x' * 9_000_000 + '","files":[],"isTruncated":false}'
'result'`,
    value: /^x+$/,
  },
  {
    name: 'a program that replaces Python functions affects only itself',
    code: `import builtins, json, sys, traceback, __main__
json.dumps = lambda *a, **k: '{"value":"forged","files":[["x","/lib/python314.zip"]],"isTruncated":false}'
traceback.TracebackException = None
'result'`,
    terminations: ['lost', 'output', 'time'],
    value: /forged|result/,
  },
];

/** Timeout in ms that includes a repeated verification of the sandbox. */
const SETUP_OPTIONS = { timeout: 240_000 };

for (const sandbox of ['strict', 'basic', 'bubblewrap', ...listEngineNames()] as const) {
  const level = sandbox === 'basic' ? 'basic' : 'strict';
  describe(sandbox === level ? `sandbox at level ${level}` : `sandbox of ${sandbox}`, { concurrency: 2 }, () => {
    // In bubblewrap and container engines, the attacks that share a container: the others take a minute, in a full run.
    const attacks = ATTACKS.filter(
      ({ dependsOnLevel, leavesNoState }) =>
        IS_FULL_RUN || sandbox === 'strict' || (dependsOnLevel && (sandbox === 'basic' || leavesNoState)),
    );
    const hasTimeLimits = attacks.some(({ terminations }) => terminations?.includes('time'));
    let testInterpreter: UnverifiedInterpreter;
    /** An interpreter with a short time limit, for programs that only this limit stops. */
    let shortLimitInterpreter: UnverifiedInterpreter;
    let secretFile: string;
    let port = 0;
    const connections: string[] = [];
    const server = createServer((socket) => {
      connections.push('connection');
      socket.end('x');
    });

    before(async () => {
      const engine = sandbox === 'podman' || sandbox === 'docker' ? await openTestContainerEngine(sandbox) : undefined;
      const driver = sandbox === 'bubblewrap' ? sandbox : 'auto';
      const candidates =
        typeof engine === 'string'
          ? { sandboxes: [], reasons: [engine] }
          : (engine?.candidates ?? chooseSandboxes({ level, driver, image: '' }));
      testInterpreter =
        sandbox === 'bubblewrap'
          ? await openUnverifiedSandbox({ candidates, seconds: 40 })
          : await openTestInterpreter({ level, memoryMb: 160, containersMax: 4, candidates, seconds: 40 });
      const { effectiveLevel, sandbox: name } = testInterpreter.status;
      // The same sandbox is not verified again: the verification does not depend on the time limit of programs.
      shortLimitInterpreter =
        hasTimeLimits && effectiveLevel !== 'off'
          ? await openUnverifiedSandbox({ candidates, sandbox: name, seconds: IS_FULL_RUN ? 4 : 2 })
          : testInterpreter;
      secretFile = join(testInterpreter.folder, 'secret');
      await writeFile(secretFile, 'of the host');
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      port = typeof address === 'object' && address !== null ? address.port : 0;
    }, SETUP_OPTIONS);
    after(async () => {
      server.close();
      await testInterpreter[Symbol.asyncDispose]();
      if (shortLimitInterpreter !== testInterpreter) await shortLimitInterpreter[Symbol.asyncDispose]();
    });

    // Bubblewrap is attacked without a verification, which root cannot pass.
    if (sandbox !== 'bubblewrap')
      test('passes the verification of the sandbox', (context) => {
        const skipReason = level === 'strict' ? getStrictSkipReason(testInterpreter.status) : false;
        if (skipReason !== false) return context.skip(skipReason);
        assert.equal(testInterpreter.status.effectiveLevel, level, testInterpreter.status.reason);
      });

    const isShared = ({ leavesNoState = false }: Attack): boolean => !IS_FULL_RUN && leavesNoState;

    /** Runs an attack, and checks that it has reached nothing. Skips the test where the sandbox does not work. */
    const checkAttack = async (
      context: TestContext,
      { code, value, error, terminations }: Attack,
      run: (testInterpreter: UnverifiedInterpreter, program: string) => Promise<CodeOutput>,
    ): Promise<void> => {
      const interpreter = terminations?.includes('time') ? shortLimitInterpreter : testInterpreter;
      const { status } = interpreter;
      if (status.effectiveLevel === 'off') return context.skip(String(status.reason));
      const program = code
        .replaceAll('SECRET', secretFile)
        .replaceAll('PORT', String(port))
        .replaceAll('PARENT', String(process.pid));
      const output = await run(interpreter, program);
      const details = JSON.stringify(output).slice(0, 2_000);
      const failure = output.error;
      if (failure && failure.type !== 'exception') {
        assert.ok(terminations?.includes(failure.type), `${failure.type}: ${details}`);
      } else if (failure) {
        assert.ok(error, details);
        assert.match(failure.message, error);
      } else if (value instanceof RegExp) assert.match(output.value ?? '', value, details);
      else assert.equal(output.value, value, details);
      assert.deepEqual(connections, []);
      assert.ok(output.stdout.length + output.stderr.length <= 2 * 256 * 1024, details);
      assert.ok((output.value ?? '').length <= 64 * 1024, details);
      assert.ok(output.files.length <= 16);
      for (const file of output.files) {
        assert.doesNotMatch(file.name, /[/\\\p{C}]|^\./u);
        assert.ok(file.name.length <= 120);
        assert.doesNotMatch(Buffer.from(file.bytes).toString('latin1'), /of the host/);
      }
      assert.equal(await readFile(secretFile, 'utf8'), 'of the host');
    };

    for (const attack of attacks.filter((each) => !isShared(each)))
      test(attack.name, { timeout: 80_000 }, (context) =>
        checkAttack(context, attack, ({ runAlone }, program) => runAlone(program)),
      );

    describe('in one container', () => {
      let container: CodeContainer | undefined;
      after(() => container?.release());

      for (const attack of attacks.filter(isShared))
        test(attack.name, { timeout: 80_000 }, (context) =>
          checkAttack(context, attack, async ({ open }, program) => {
            container ??= await open();
            return container.run(program, AbortSignal.timeout(80_000));
          }),
        );
    });
  });
}
