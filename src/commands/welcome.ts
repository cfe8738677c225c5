import { regionName } from '../core/region.ts';
import type { ListenAddress } from '../service/service.ts';
import type { Report } from '../service/readiness.ts';

export interface Welcome {
  readonly report: Report;
  readonly addresses: readonly ListenAddress[];
  readonly key: { readonly secret: string; readonly isNew: boolean } | undefined;
  readonly keyFile: string;
}

/** What a newcomer sees: every interface with on / off / why, addresses, key, and one line to try. */
export function welcome({ report, addresses, key, keyFile }: Welcome): string {
  return [
    '',
    ...interfaceTree(report),
    '',
    ...addresses.flatMap(addressLines),
    '',
    keyLine(key, keyFile),
    '',
    ...tryLines(addresses[0]?.url, key, keyFile),
    '',
  ]
    .map((line) => `${line}\n`)
    .join('');
}

function interfaceTree({ interfaces, models, tools }: Report): string[] {
  const width = Math.max(
    ...interfaces.map(({ name }) => name.length),
    ...models.map(({ model }) => model.length),
    ...tools.map(({ tool }) => tool.length),
  );
  const rows = interfaces.map(({ name, state, reason, paths }) => {
    const what = state === 'on' ? `on   ${paths[0] ?? ''}` : `off  ${reason ?? ''}`;
    return `${name.padEnd(width)}  ${what}`;
  });
  const modelRows = models.map(
    ({ model, state, reason }) => `${model.padEnd(width)}  ${state}${reason ? `: ${reason}` : ''}`,
  );
  const toolRows = tools.map(
    ({ tool, state, detail, reason }) =>
      `${tool.padEnd(width)}  ${state}${detail ? `  ${detail}` : ''}${reason ? `: ${reason}` : ''}`,
  );
  return ['Interfaces', ...branches(rows), 'Models', ...branches(modelRows), 'Tools of models', ...branches(toolRows)];
}

const branches = (rows: readonly string[]): string[] =>
  rows.map((row, i) => `${i === rows.length - 1 ? '└─' : '├─'} ${row}`);

const addressLines = ({ region, url, regions }: ListenAddress): string[] =>
  regions.flatMap(({ id, hosts }) => [
    regionName(id),
    ...(id === region
      ? [
          `  chat completions   ${url}/compatible-mode/v1   (or ${url}/v1)`,
          `  messages           ${url}/apps/anthropic`,
          `  native             ${url}/api/v1`,
        ]
      : []),
    ...hosts.map(
      ({ pattern, isDeprecated }) =>
        `  host name          ${pattern}   (on ${url}${isDeprecated ? '; deprecated' : ''})`,
    ),
  ]);

function keyLine(key: Welcome['key'], keyFile: string): string {
  if (!key) return 'Keys exist already; make another one with: parley keys create';
  return key.isNew ? `Key (shown once, saved in ${keyFile}):\n  ${key.secret}` : `Key: in ${keyFile}`;
}

function tryLines(url: string | undefined, key: Welcome['key'], keyFile: string): string[] {
  if (url === undefined) return [];
  const bearer = key ? `$(cat '${keyFile}')` : 'YOUR_KEY';
  const body = '{"model":"svc-plus","messages":[{"role":"user","content":"Hello"}]}';
  return [
    'Try:',
    `  curl ${url}/v1/chat/completions -H "Authorization: Bearer ${bearer}" -H 'Content-Type: application/json' -d '${body}'`,
  ];
}
