import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { readTextIfReadable } from '../file-system.ts';

/** An npm registry and its credentials. */
export interface NpmRegistry {
  readonly url: string;
  /** Authorization header for the registry's own origin; not sent to other hosts that store its archives. */
  readonly authorization?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the registry that npm would use according to its environment or configuration files, or undefined when none
 * is configured. Precedence as in npm's documentation: environment, user's file, machine's file.
 */
export async function findNpmRegistry(
  environment: Environment,
  { home = homedir(), node = process.execPath }: { readonly home?: string; readonly node?: string } = {},
): Promise<NpmRegistry | undefined> {
  const files = [
    getSetting(environment, 'userconfig') ?? join(home, '.npmrc'),
    getSetting(environment, 'globalconfig') ?? join(dirname(dirname(node)), 'etc', 'npmrc'),
    '/etc/npmrc',
  ];
  const texts = await Promise.all(files.map(readTextIfReadable));
  const settings = texts.map((text) => parseNpmrc(text, environment));
  const url = getSetting(environment, 'registry') ?? settings.map((each) => each.get('registry')).find(isNonEmpty);
  if (url === undefined || !URL.canParse(url)) return undefined;
  const authorization = settings.map((each) => findAuthorization(url, each)).find(isNonEmpty);
  return { url, ...(authorization === undefined ? {} : { authorization }) };
}

/** Reads a setting from the environment. npm ignores the case of the variable's name. */
const getSetting = (environment: Environment, name: string): string | undefined =>
  Object.entries(environment).find(([key, value]) => key.toLowerCase() === `npm_config_${name}` && value)?.[1];

/** Parses lines of the form `key = value`. A value may contain variables of the environment as `${NAME}`. */
function parseNpmrc(text: string, environment: Environment): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const [, key, value] = /^\s*([^#;=\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    const plain = value.replace(/^(["'])(.*)\1$/, '$2');
    settings.set(
      key,
      plain.replace(/\$\{(\w+)\}/g, (whole, name: string) => environment[name] ?? whole),
    );
  }
  return settings;
}

/** Returns the credentials stored for the registry's address without its protocol, or for a parent path of it. */
function findAuthorization(url: string, settings: ReadonlyMap<string, string>): string | undefined {
  const { host, pathname } = new URL(url);
  const pathSegments = pathname.split('/').filter(Boolean);
  for (let segmentCount = pathSegments.length; segmentCount >= 0; segmentCount--) {
    const at = `//${[host, ...pathSegments.slice(0, segmentCount)].join('/')}`;
    const secret = (name: string): string | undefined =>
      settings.get(`${at}/:${name}`) ?? settings.get(`${at}:${name}`);
    const token = secret('_authToken');
    if (token !== undefined) return `Bearer ${token}`;
    const basic = secret('_auth');
    if (basic !== undefined) return `Basic ${basic}`;
    const [name, password] = [secret('username'), secret('_password')];
    if (name === undefined || password === undefined) continue;
    return `Basic ${Buffer.from(`${name}:${Buffer.from(password, 'base64').toString()}`).toString('base64')}`;
  }
  return undefined;
}

const isNonEmpty = (value: string | undefined): value is string => value !== undefined && value !== '';
