// Verifies the sandbox of level strict, runs a program in it, and prints the status and the program's value as JSON.
// Arguments: the driver, and a folder for the snapshot.
import { createVerifiedInterpreter, TEST_SETTINGS } from './test-interpreter.ts';
import type { CodeDriver } from '../../../choose-sandboxes.ts';

const [, , driver, folder = ''] = process.argv;
const { interpreter, status } = await createVerifiedInterpreter({ ...TEST_SETTINGS, driver: driver as CodeDriver, folder });
const timeout = AbortSignal.timeout(60_000);
const run = async (): Promise<string | undefined> => {
  const container = await interpreter.open({ tenant: { region: 'cn-beijing', workspace: 'one' }, files: [] }, timeout);
  return (await container.run('6 * 7', timeout)).value;
};
const value = status.effectiveLevel === 'strict' ? await run() : undefined;
await interpreter.close();
process.stdout.write(JSON.stringify({ ...status, value }));
