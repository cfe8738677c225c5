import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { openDatabase } from '../service/open-components.ts';
import { createBackupCommand } from './backup-command.ts';
import { createRestoreCommand } from './restore-command.ts';

const ENV = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'r' };

/** Creates a service whose database is elsewhere and whose blobs are in a bucket, as its configuration file says. */
async function createService(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-restore-command-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const data = join(folder, 'live');
  const database = join(folder, 'database', 'live.db');
  mkdirSync(data);
  mkdirSync(join(folder, 'database'));
  const file = join(data, 'parley.yaml');
  writeFileSync(
    file,
    `# ours\ndata: ${data}\nstore:\n  url: sqlite:${database}\nblobs:\n  url: s3://live-bucket/blobs\nport: 9000\n`,
  );
  const loadFile = () => loadConfig({ flags: { config: file }, env: {} });
  await (await openDatabase(loadFile().config)).close();
  const run = async (args: readonly string[], env: Readonly<Record<string, string>> = ENV, load = loadFile) => {
    let [output, errors] = ['', ''];
    const deps = {
      load,
      env,
      stdout: { write: (text: string) => (output += text) },
      stderr: { isTTY: false, write: (text: string) => (errors += text) },
    };
    const command = args[0] === 'restore' ? createRestoreCommand(deps) : createBackupCommand(deps);
    await command.exitOverride().parseAsync(args.slice(1), { from: 'user' });
    return { output, errors };
  };
  return { folder, data, file, database, run, target: join(folder, 'target'), to: join(folder, 'restored') };
}

describe('parley restore', () => {
  it('separates the restored service from the bucket and the database of the live one', async (t) => {
    const { data, database, run, target, to } = await createService(t);
    await run(['backup', target]);
    const { output, errors } = await run(['restore', target, '--to', to]);
    for (const flags of [{ data: to }, { config: join(to, 'parley.yaml') }]) {
      const { config } = loadConfig({ flags, env: {} });
      assert.deepEqual(
        [config.data, config.store.url, config.blobs.url, config.port],
        [to, `sqlite:${join(to, 'parley.db')}`, undefined, 9000],
      );
    }
    assert.match(readFileSync(join(to, 'parley.yaml'), 'utf8'), /^# ours\n/);
    const lines = output.split('\n').slice(1);
    assert.deepEqual(lines, [
      `parley.yaml: data set to ., was ${data}`,
      `parley.yaml: store.url removed, was sqlite:${database}`,
      'parley.yaml: blobs.url removed, was s3://live-bucket/blobs',
      `Start it with: parley serve --data ${to}`,
      '',
    ]);
    assert.match(errors, /WARNING: PARLEY_BLOBS_URL, PARLEY_STORE_URL, PARLEY_CONFIG take precedence.*start\.\n$/);
  });

  it('names the variables that are set, and the changes with --json', async (t) => {
    const { run, target, to } = await createService(t);
    await run(['backup', target]);
    const { output, errors } = await run(['restore', target, '--to', to, '--json'], {
      ...ENV,
      PARLEY_BLOBS_URL: 's3://live-bucket/blobs',
    });
    assert.match(errors, /Set here: PARLEY_BLOBS_URL\.\n$/);
    const { changes } = JSON.parse(output) as { readonly changes: readonly object[] };
    assert.deepEqual(changes.at(-1), { setting: 'blobs.url', before: 's3://live-bucket/blobs', after: null });
  });

  it('restores the configuration that the service used, and the backup prints what it leaves out', async (t) => {
    const { folder, data, file, run, target, to } = await createService(t);
    const used = join(folder, 'used.yaml');
    writeFileSync(used, readFileSync(file));
    writeFileSync(file, 'port: 1\n');
    symlinkSync('missing', join(data, 'callback-secret'));
    const load = () => loadConfig({ flags: { config: used }, env: {} });
    const { errors } = await run(['backup', target], ENV, load);
    assert.match(errors, /^parley: callback-secret in the data folder is not in the backup: link to nothing$/m);
    assert.match(errors, /^parley: parley.yaml in the data folder .* not the configuration that is used: .* \(8 B\)$/m);
    await run(['restore', target, '--to', to]);
    assert.match(readFileSync(join(to, 'parley.yaml'), 'utf8'), /port: 9000/);
  });

  it('refuses a location of the file contents that is no bucket', async (t) => {
    const { folder, run, target, to } = await createService(t);
    await run(['backup', target]);
    await assert.rejects(run(['restore', target, '--to', to, '--blobs', join(folder, 'x')]), /--blobs must be s3:/);
    assert.equal(readdirSync(folder).includes('restored'), false);
  });
});
