import { formatRegion } from '../core/region.ts';
import type { ListenAddress } from '../service/service.ts';
import type { ServiceReport } from '../service/readiness.ts';

export interface WelcomeOptions {
  readonly report: ServiceReport;
  readonly addresses: readonly ListenAddress[];
  readonly key: { readonly secret: string; readonly isNew: boolean } | undefined;
  readonly keyFile: string;
  /** Whether a person reads the text. Otherwise it may end up in the log of a container, and names the key's file only. */
  readonly isTerminal: boolean;
}

/** Formats the start-up text: status of interfaces, models and tools, addresses, key, and an example request. */
export function formatWelcome({ report, addresses, key, keyFile, isTerminal }: WelcomeOptions): string {
  return [
    '',
    ...formatReport(report),
    '',
    ...addresses.flatMap(formatAddress),
    '',
    formatKey({ key, keyFile, isTerminal }),
    '',
    ...formatExample(addresses[0]?.url, key, keyFile),
    '',
  ]
    .map((line) => `${line}\n`)
    .join('');
}

function formatReport({ interfaces, models, tools }: ServiceReport): string[] {
  const width = Math.max(
    ...interfaces.map(({ name }) => name.length),
    ...models.map(({ model }) => model.length),
    ...tools.map(({ tool }) => tool.length),
  );
  const rows = interfaces.map(({ name, state, reason, note, paths }) => {
    const status = state === 'on' ? `on   ${paths[0] ?? ''}${note ? `: ${note}` : ''}` : `off  ${reason ?? ''}`;
    return `${name.padEnd(width)}  ${status}`;
  });
  const modelRows = models.map(
    ({ model, state, reason, warning }) =>
      `${model.padEnd(width)}  ${state}${reason ? `: ${reason}` : ''}${warning ? ` (${warning})` : ''}`,
  );
  const toolRows = tools.map(
    ({ tool, state, detail, reason }) =>
      `${tool.padEnd(width)}  ${state}${detail ? `  ${detail}` : ''}${reason ? `: ${reason}` : ''}`,
  );
  return [
    'Interfaces',
    ...addTreeBranches(rows),
    'Models',
    ...addTreeBranches(modelRows),
    'Model tools',
    ...addTreeBranches(toolRows),
  ];
}

const addTreeBranches = (rows: readonly string[]): string[] =>
  rows.map((row, i) => `${i === rows.length - 1 ? '└─' : '├─'} ${row}`);

const formatAddress = ({ region, url, regions }: ListenAddress): string[] =>
  regions.flatMap(({ id, hosts }) => [
    formatRegion(id),
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

function formatKey({ key, keyFile, isTerminal }: Omit<WelcomeOptions, 'report' | 'addresses'>): string {
  if (!key) return 'Keys already exist. Create another one with: parley keys create';
  return key.isNew && isTerminal ? `Key (shown once, saved in ${keyFile}):\n  ${key.secret}` : `Key: see ${keyFile}`;
}

function formatExample(url: string | undefined, key: WelcomeOptions['key'], keyFile: string): string[] {
  if (url === undefined) return [];
  const bearer = key ? `$(cat '${keyFile}')` : 'YOUR_KEY';
  const body = '{"model":"svc-plus","messages":[{"role":"user","content":"Hello"}]}';
  return [
    'Try:',
    `  curl ${url}/v1/chat/completions -H "Authorization: Bearer ${bearer}" -H 'Content-Type: application/json' -d '${body}'`,
  ];
}
