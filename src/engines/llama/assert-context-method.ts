import { assert } from '../../lib/assert.ts';

/** Asserts that a context of the native library has a method that its types do not declare. */
export function assertContextMethod(context: unknown, name: string): void {
  const method: unknown = Reflect.get(Object(context), name);
  assert(typeof method === 'function', `this build of node-llama-cpp lacks context.${name}`);
}
