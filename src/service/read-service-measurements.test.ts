import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { registerTestService } from './__fixtures__/register-test-service.ts';

describe('the metrics of a service', () => {
  const service = registerTestService();

  test('name its database, disk, memory and waiting jobs', async () => {
    const text = await (await fetch(`${service.getUrl()}/metrics`)).text();
    const database = Number(/^parley_database_bytes\{file="main"\} (\d+)$/m.exec(text)?.[1]);
    assert.equal(database, statSync(join(service.folder, 'parley.db')).size);
    assert.match(text, /^parley_database_bytes\{file="wal"\} \d+$/m);
    assert.match(text, /^parley_data_disk_free_bytes [1-9]\d+$/m);
    assert.match(text, /^parley_jobs_waiting\{kind="batch"\} 0$/m);
    assert.match(text, /^parley_jobs_waiting_oldest_seconds\{kind="batch"\} 0$/m);
    assert.match(text, /^parley_event_loop_delay_seconds\{quantile="p99"\} /m);
  });
});
