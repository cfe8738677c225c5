// Main file of the process that runs programs. It needs nothing but this folder and the interpreter's, and ends with its
// standard input. What guards it from outside is the sandbox that it was started in; what it guards itself is the border
// between its own realm and the one that Python lives in (realm.ts).
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import { boundMemory } from './bound-memory.ts';
import { closeNetwork } from './close-network.ts';
import { HARNESS } from './harness.ts';
import { createHost } from './host.ts';
import type { InterpreterFiles } from './host.ts';
import type { Order, StartOrder } from './messages.ts';
import { onLines } from './on-lines.ts';
import { bootRealm } from './realm.ts';
import type { Interpreter, RealmOptions, RealmOrder, Realm } from './realm.ts';
import { defineTextCoding } from './text-coding.ts';

/** Within Python's own file system: nothing of any machine. */
const HOME_FOLDER = '/home/user';

/** Ours: how this process ends where something of Python's realm was thrown at nobody. */
const UNHEARD_EXIT_CODE = 70;

// What is thrown there is an object of that realm: to look at it, as the runtime would, is to call what a program put into it.
process.on('unhandledRejection', () => undefined);
process.on('uncaughtException', (error) => {
  if (!realm) process.stderr.write(`${error.stack}\n`);
  process.exit(UNHEARD_EXIT_CODE);
});

let realm: Realm | undefined;
let files: InterpreterFiles | undefined;
const host = createHost({ wake: (timer) => realm?.wake(timer), files: (name) => files?.(name) });

closeNetwork();
onLines(process.stdin, (line) => {
  // The service wrote it.
  const order = JSON.parse(line) as Order;
  if (order.type === 'start') {
    files = interpreterFiles(order);
    host.begin(order);
    realm = start(order);
    return;
  }
  const inputs = new Map(order.files.map(({ name, bytes }) => [`input/${name}`, Buffer.from(bytes, 'base64')]));
  files = (name) => inputs.get(name);
  host.beginProgram(order.nonce);
  const program: RealmOrder = { nonce: order.nonce, code: order.code, inputs: order.files.map(({ name }) => name) };
  realm?.run(JSON.stringify(program));
});

const WASM = 'pyodide/pyodide.asm.wasm';

function interpreterFiles({
  pyodideFolder,
  snapshotFile,
  wheelsFolder,
  wheelNames,
  limits,
}: StartOrder): InterpreterFiles {
  const paths = new Map([
    [WASM, `${pyodideFolder}/pyodide.asm.wasm`],
    ['pyodide/python_stdlib.zip', `${pyodideFolder}/python_stdlib.zip`],
    ...wheelNames.map((name) => [`wheels/${name}`, `${wheelsFolder}/${name}`] as const),
    ...(snapshotFile === undefined ? [] : [['snapshot', snapshotFile] as const]),
  ]);
  let last: { readonly name: string; readonly bytes: Buffer } | undefined;
  return (name) => {
    const path = paths.get(name);
    if (path === undefined) return undefined;
    if (last?.name !== name) {
      last = { name, bytes: readFileSync(path) };
      if (name === WASM) boundMemory(last.bytes, limits.memoryBytes);
    }
    return last.bytes;
  };
}

function start({ pyodideFolder, snapshotFile, wheelNames, isForSnapshot, limits }: StartOrder): Realm {
  // A new realm: the language, and nothing that was not put into it.
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: true } });
  const evaluate = (text: string, filename: string): unknown => new vm.Script(text, { filename }).runInContext(context);
  const source = (name: string): string =>
    readFileSync(`${pyodideFolder}/${name}`, 'utf8')
      // Nothing is imported there, and a refusal would be an error of this realm's.
      .replaceAll(/(?<![\w$.])import\(/g, 'noImport(')
      .replaceAll('import.meta.url', '"file:///pyodide/"');
  const moduleText = source('pyodide.asm.mjs').replace(/export default (\w+);?\s*$/, 'return $1');
  // Each looks at what there is around it as soon as it runs.
  const interpreter = (): Interpreter => ({
    loadPyodide: evaluate(`${source('pyodide.js')}\nloadPyodide`, 'pyodide.js') as Interpreter['loadPyodide'],
    createModule: evaluate(`(() => {${moduleText}})()`, 'pyodide.asm.js'),
  });
  const lock = JSON.parse(readFileSync(`${pyodideFolder}/pyodide-lock.json`, 'utf8')) as { readonly info: unknown };
  const options: RealmOptions = {
    hasSnapshot: snapshotFile !== undefined,
    isForSnapshot,
    wheelNames,
    lockInfo: JSON.stringify(lock.info),
    harness: HARNESS,
    homeFolder: HOME_FOLDER,
    harnessLimits: JSON.stringify(limits),
  };
  evaluate(`(${defineTextCoding.toString()})()`, 'text-coding.js');
  const boot = evaluate(`(${bootRealm.toString()})`, 'realm.js') as typeof bootRealm;
  return boot(host.functions, options, interpreter);
}
