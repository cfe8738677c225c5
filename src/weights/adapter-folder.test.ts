import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { AdapterFolderError, readAdapterRank } from './adapter-folder.ts';

const refuse = (folder: string, message: string) =>
  assert.rejects(readAdapterRank(folder), (error) => {
    assert.ok(error instanceof AdapterFolderError);
    assert.equal(error.message, message);
    return true;
  });

test('reads the rank of an adapter, and refuses folders without one', async (t) => {
  const folder = await createTemporaryFolder(t);
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  await refuse(folder, 'it contains no adapter_config.json');
  write('adapter_config.json', '{"peft_type":"LORA","r":64}');
  await refuse(folder, 'it contains no adapter_model.safetensors');
  write('adapter_model.safetensors', '');
  assert.equal(await readAdapterRank(folder), 64);
  for (const text of ['{"peft_type":"IA3","r":64}', '{"peft_type":"LORA"}', '[', '{"r":"64"}']) {
    write('adapter_config.json', text);
    await refuse(folder, 'its adapter_config.json does not describe a LoRA adapter');
  }
  await refuse(join(folder, 'nowhere'), 'it cannot be read as a folder (ENOENT)');
  await refuse(join(folder, 'adapter_config.json'), 'it cannot be read as a folder (ENOTDIR)');
});

test('knows no rank of an adapter on the hub', async () => {
  assert.equal(await readAdapterRank('no-owner/no-repository'), undefined);
  await refuse('no-folder', 'it cannot be read as a folder (ENOENT)');
});
