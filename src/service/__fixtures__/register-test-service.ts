import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { loadConfig } from '../../config/load-config.ts';
import type { RegionId } from '../../core/region.ts';
import { createService, type Service } from '../service.ts';
import type { ServiceOverrides } from '../service-overrides.ts';

export interface TestServiceOptions extends Partial<ServiceOverrides> {
  /** Text of the configuration file. Default: one region on a free port. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A running service. Only `folder` is available before the tests. */
export interface TestService {
  /** Data folder. */
  readonly folder: string;
  getService(): Service;
  getUrl(region?: RegionId): string;
  /** Returns the key of a workspace; creates it at the first call. Default: workspace `primary` in `cn-beijing`. */
  getSecret(scope?: { readonly region?: RegionId; readonly workspace?: string }): Promise<string>;
}

/**
 * Registers the hooks of a suite that start a complete service with the scripted engine in a temporary folder, and
 * close it after the tests. The service logs nothing.
 */
export function registerTestService({
  config = 'regions: {cn-beijing: {port: 0}}\n',
  env = {},
  ...overrides
}: TestServiceOptions = {}): TestService {
  const folder = mkdtempSync(join(tmpdir(), 'parley-service-'));
  const urls = new Map<RegionId, string>();
  const secrets = new Map<string, string>();
  let service: Service | undefined;

  before(async () => {
    writeFileSync(join(folder, 'parley.yaml'), config);
    const base = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const ignore = () => undefined;
    const log = { info: ignore, warn: ignore, error: ignore };
    service = await createService(loadConfig({ env: { ...base, ...env } }).config, { log, ...overrides });
    for (const { url, region } of await service.listen()) urls.set(region, url);
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const getService = (): Service => service ?? assert.fail('the service has not started');
  return {
    folder,
    getService,
    getUrl: (region = 'cn-beijing') => urls.get(region) ?? assert.fail(`the service has no region ${region}`),
    async getSecret({ region = 'cn-beijing', workspace = 'primary' } = {}) {
      const scope = `${workspace} ${region}`;
      const secret =
        secrets.get(scope) ?? (await getService().keys.create({ region, workspace, name: '', expiresAt: undefined })).secret;
      secrets.set(scope, secret);
      return secret;
    },
  };
}
