import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { RegionId } from '../../../../core/region.ts';
import { recognition } from '../../recognition-capability.ts';
import { registerTestService } from '../../../../service/__fixtures__/register-test-service.ts';

const PATH = '/api/v1/services/audio/asr/customization';
const ENTRIES = [{ text: 'Okonkwo', weight: 4, lang: 'en' }];

interface TenantScope {
  readonly region: RegionId;
  readonly workspace?: string;
}
const BEIJING: TenantScope = { region: 'cn-beijing' };
const SINGAPORE: TenantScope = { region: 'ap-southeast-1' };

interface Answer {
  readonly status: number;
  readonly body: {
    readonly code?: string;
    readonly message?: string;
    readonly output?: {
      readonly vocabulary_id?: string;
      readonly vocabulary_list?: readonly { readonly vocabulary_id: string; readonly status: string }[];
      readonly vocabulary?: readonly unknown[];
      readonly status?: string;
      readonly gmt_create?: string;
    };
  };
}

describe('vocabulary endpoint of the complete service', () => {
  const createConfig = (models: string): string =>
    [
      'regions: {cn-beijing: {port: 0}, ap-southeast-1: {port: 0}, us-east-1: {port: 0}}',
      'timezone: Asia/Shanghai',
      'vocabularies: {listsMax: 5, entriesMax: 3}',
      models,
    ].join('\n');
  const { folder, getService, getUrl, getSecret } = registerTestService({
    // Local engines are scripted. The file model has an engine, the realtime model has none.
    config: createConfig(
      'models: {svc-asr: {weights: default, interfaces: [speech]}, svc-asr-realtime: {none: not there}}',
    ),
    capabilities: [recognition],
    clock: { now: () => Date.parse('2026-07-01T12:00:00.500Z'), monotonic: () => performance.now() },
  });
  const file = join(folder, 'parley.yaml');
  const configure = (models: string) => writeFileSync(file, createConfig(models));

  const call = async (place: TenantScope, input: object): Promise<Answer> => {
    const response = await fetch(`${getUrl(place.region)}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await getSecret(place)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'speech-biasing', input, parameters: {} }),
    });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  };
  const create = (place: TenantScope, change: object = {}) =>
    call(place, {
      action: 'create_vocabulary',
      target_model: 'paraformer-v2',
      prefix: 'test',
      vocabulary: ENTRIES,
      ...change,
    });
  const getVocabularyId = ({ status, body }: Answer): string => {
    assert.equal(status, 200, JSON.stringify(body));
    return body.output?.vocabulary_id ?? assert.fail();
  };
  const query = (place: TenantScope, id: string) => call(place, { action: 'query_vocabulary', vocabulary_id: id });
  const list = async (place: TenantScope) =>
    (await call(place, { action: 'list_vocabulary' })).body.output?.vocabulary_list;
  const remove = (place: TenantScope, id: string) => call(place, { action: 'delete_vocabulary', vocabulary_id: id });

  test('creates, updates, returns and deletes a vocabulary in the configured time zone and limits', async () => {
    const id = getVocabularyId(await create(BEIJING));
    assert.match(id, /^vocab-test-[0-9a-f]{32}$/);
    const entries = [{ text: '北京', weight: 5 }, ...ENTRIES];
    assert.equal(
      (await call(BEIJING, { action: 'update_vocabulary', vocabulary_id: id, vocabulary: entries })).status,
      200,
    );
    const { output } = (await query(BEIJING, id)).body;
    assert.deepEqual([output?.vocabulary, output?.gmt_create], [entries, '2026-07-01 20:00:00']);
    const longer = { action: 'update_vocabulary', vocabulary_id: id, vocabulary: [...entries, ...entries] };
    const refused = await call(BEIJING, longer);
    assert.deepEqual(
      [refused.status, refused.body.message],
      [400, 'input.vocabulary must have 1 to 3 entries, got 4.'],
    );
    assert.equal((await remove(BEIJING, id)).status, 200);
    const gone = await query(BEIJING, id);
    assert.deepEqual([gone.status, gone.body.code], [400, 'BadRequest.ResourceNotExist']);
  });

  test('enforces the maximum number for simultaneous creations', async () => {
    const created = await Promise.all(Array.from({ length: 20 }, () => create(BEIJING)));
    const accepted = created.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 5);
    for (const { status, body } of created.filter((each) => !accepted.includes(each)))
      assert.deepEqual([status, body.code], [400, 'Throttling.AllocationQuota']);
    assert.equal((await list(BEIJING))?.length, 5);
    for (const each of accepted) await remove(BEIJING, getVocabularyId(each));
  });

  test('keeps vocabularies and their limits apart by region', async () => {
    const id = getVocabularyId(await create(BEIJING));
    assert.deepEqual(await list(SINGAPORE), []);
    for (const action of ['query_vocabulary', 'update_vocabulary', 'delete_vocabulary']) {
      const { status, body } = await call(SINGAPORE, { action, vocabulary_id: id, vocabulary: ENTRIES });
      assert.deepEqual([status, body.code], [400, 'BadRequest.ResourceNotExist']);
    }
    const other = getVocabularyId(await create(SINGAPORE));
    assert.deepEqual([(await list(BEIJING))?.length, (await list(SINGAPORE))?.length], [1, 1]);
    await remove(BEIJING, id);
    await remove(SINGAPORE, other);
  });

  test('answers 403 in regions without vocabularies and in other workspaces', async () => {
    const abroad = await create({ region: 'us-east-1' });
    assert.deepEqual([abroad.status, abroad.body.code], [403, 'AccessDenied']);
    assert.match(abroad.body.message ?? '', /Beijing.*Singapore/);
    const id = getVocabularyId(await create(BEIJING));
    const team: TenantScope = { ...BEIJING, workspace: 'team' };
    for (const answer of [await create(team), await query(team, id), await remove(team, id)])
      assert.deepEqual([answer.status, answer.body.code], [403, 'AccessDenied']);
    await remove(BEIJING, id);
  });

  test('reports whether the target model can run now', async () => {
    const recorded = getVocabularyId(await create(BEIJING));
    const live = getVocabularyId(await create(BEIJING, { target_model: 'paraformer-realtime-v2' }));
    const statuses = async () =>
      Object.fromEntries(((await list(BEIJING)) ?? []).map((each) => [each.vocabulary_id, each.status]));
    assert.deepEqual(await statuses(), { [recorded]: 'OK', [live]: 'UNDEPLOYED' });
    assert.equal((await query(BEIJING, live)).body.output?.status, 'UNDEPLOYED');
    configure(
      'models: {svc-asr: {none: it was taken away, interfaces: [speech]}, svc-asr-realtime: {none: not there}}',
    );
    await getService().reloadModels(file);
    assert.deepEqual(await statuses(), { [recorded]: 'UNDEPLOYED', [live]: 'UNDEPLOYED' });
    // The request must not fail when the model no longer has speech recognition.
    configure('models: {svc-asr: {weights: default, interfaces: [chat]}, svc-asr-realtime: {none: not there}}');
    await getService().reloadModels(file);
    assert.deepEqual(await statuses(), { [recorded]: 'UNDEPLOYED', [live]: 'UNDEPLOYED' });
    configure('models: {svc-asr: {weights: default, interfaces: [speech]}, svc-asr-realtime: {none: not there}}');
    await getService().reloadModels(file);
    assert.deepEqual(await statuses(), { [recorded]: 'OK', [live]: 'UNDEPLOYED' });
  });

  test('reports the interface as on', async () => {
    const { interfaces } = await getService().buildReport();
    assert.equal(interfaces.find(({ name }) => name === 'Custom vocabulary')?.state, 'on');
  });
});
