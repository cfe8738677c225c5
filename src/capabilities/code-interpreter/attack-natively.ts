import {
  decodeKeyring,
  encodeNativeInput,
  findNativeBreaches,
  NATIVE_OUTPUT_BYTES_MAX,
} from './native/native-attacks.ts';
import type { NativeAttackInput } from './native/native-attacks.ts';
import { SandboxTimeoutError } from './sandbox-timeout-error.ts';
import { spawnInSandbox } from './sandboxed-process.ts';
import { NATIVE_ATTACKS_MB } from './sandboxes/sandbox.ts';
import type { Sandbox } from './sandboxes/sandbox.ts';

/** Shared memory that the attack takes while the filter of system calls is active, in bytes. */
const SHARED_BYTES = 3 * 2 ** 30;

/** Chosen: shared memory that the attack takes without the filter, more than the limit of the memory cgroup. */
const CGROUP_BYTES = 2 * NATIVE_ATTACKS_MB * 2 ** 20;

/** Chosen: ms for the attacks of one process, most of which it waits for its processor. */
const ATTACK_MS_MAX = 20_000;

interface NativeAttackOptions {
  /** Serial number of the service's session keyring; 0 if it has none. */
  readonly keyring: bigint;
  readonly signal: AbortSignal;
}

/**
 * `hasSessionKeyring`: the processes of the sandbox have a session keyring that is not the service's.
 * `hasMemoryCgroup`: they cannot take more memory than the limit of the sandbox, shared memory included.
 */
export type NativeAttackOutcome =
  | { readonly breach: string }
  | { readonly breach?: never; readonly hasSessionKeyring: boolean; readonly hasMemoryCgroup: boolean };

/**
 * Attacks a sandbox by system calls: once as programs run in it, and once without the filter of system calls, to see
 * which other layers hold.
 * @throws the signal's reason; SandboxTimeoutError if the attacks took too long for a result.
 */
export async function attackNatively(
  sandbox: Sandbox,
  { keyring, signal }: NativeAttackOptions,
): Promise<NativeAttackOutcome> {
  const sharedBytes = sandbox.hasMemoryCgroup ? CGROUP_BYTES : 0;
  const filteredInput: NativeAttackInput = { keyring, sharedBytes: SHARED_BYTES, usesMemory: false };
  const unfilteredInput: NativeAttackInput = { keyring, sharedBytes, usesMemory: true };
  const [filtered, unfiltered] = await Promise.all([
    runAttacks(sandbox, filteredInput, true, signal),
    runAttacks(sandbox, unfilteredInput, false, signal),
  ]);
  const [filteredBreach] = findNativeBreaches(filtered, filteredInput);
  const unfilteredBreaches = findNativeBreaches(unfiltered, unfilteredInput);
  const breach = filteredBreach ?? unfilteredBreaches.find(({ layer }) => layer === 'keyring');
  if (breach) return { breach: `it does not contain a native program, which ${breach.name}` };
  return {
    // A system without keyrings, or one that forbids them, lets the launcher create none.
    hasSessionKeyring: decodeKeyring(unfiltered) > 0n,
    hasMemoryCgroup: sandbox.hasMemoryCgroup && !unfilteredBreaches.some(({ layer }) => layer === 'memory cgroup'),
  };
}

/** Returns the output of the attacking program. @throws Error if it did not run. */
async function runAttacks(
  sandbox: Sandbox,
  input: NativeAttackInput,
  usesFilter: boolean,
  signal: AbortSignal,
): Promise<Buffer> {
  signal.throwIfAborted();
  const { child, kill } = spawnInSandbox(sandbox.launch({ name: 'native-attacks', usesFilter }));
  const timeout = AbortSignal.timeout(ATTACK_MS_MAX);
  const stop = AbortSignal.any([signal, timeout]);
  stop.addEventListener('abort', kill, { once: true });
  const output: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (piece: Buffer) => output.push(piece));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-1_000)));
  child.stdin.end(encodeNativeInput(input));
  await new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      stderr = error.message;
      resolve();
    });
  });
  stop.removeEventListener('abort', kill);
  signal.throwIfAborted();
  if (timeout.aborted) throw new SandboxTimeoutError(`an attack by system calls took longer than ${ATTACK_MS_MAX} ms`);
  const bytes = Buffer.concat(output);
  if (bytes.length === 0 || bytes.length > NATIVE_OUTPUT_BYTES_MAX)
    throw new Error(`no process starts in it: ${stderr.trim() || 'it ended without output'}`);
  return bytes;
}
