// Main file of a process that reports whether its input could change built-in objects or run code from strings.
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { freezeNodeGlobals } from '../freeze-node-globals.ts';

freezeNodeGlobals();

const report = {
  isFrozen: [Object, Array, Map, String, RegExp, Promise].every(({ prototype }) => Object.isFrozen(prototype)),
  isNodeFrozen: [Buffer, Buffer.prototype, TextDecoder, TextDecoder.prototype].every((each) => Object.isFrozen(each)),
  hasProto: '__proto__' in {},
  runsStrings: runsStrings(),
};

function runsStrings(): boolean {
  try {
    // Code from a string is what this process must refuse.
    return Reflect.construct(Function, ['return true'])() === true;
  } catch {
    return false;
  }
}

if (isMainThread)
  new Worker(new URL(import.meta.url)).on('message', (thread: unknown) =>
    process.stdout.write(JSON.stringify({ main: report, thread }), () => process.exit(0)),
  );
else parentPort?.postMessage(report);
