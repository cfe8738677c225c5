const HIDDEN = '(hidden)';

/** A name whose text is a secret; `apiKeyEnv` and `operatorTokenFile` only say where one is. */
const SECRET_NAME = /(?:key|token|secret|password|passphrase|authorization|credentials?|cookie)s?$/i;

/** Up to the last `@` of the host's part, or, where a password holds a slash or the like, up to the last of all. */
const URL_CREDENTIALS = /(:\/\/)(?:[^/?#\s]*|[^/?#\s:]*:(?!\d*(?:[/?#]|$))\S*)@/g;
const URL_QUERY = /(:\/\/[^\s?#]*\?)([^\s#]+)/g;

/** What a secret looks like, whatever its name. */
const AUTHORIZATION = /\b(Bearer|Basic)\s+\S+/gi;
const KEY = /\b(?:sk-|hf_)[\w-]{8,}/g;

/**
 * A copy of a configuration value that may be shown: without secrets by their names, without user, password and values of
 * the query in addresses, and without what a program is given in its environment or as a secret in its arguments.
 */
export function redact(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return SECRET_NAME.test(name) ? HIDDEN : withoutSecrets(value);
  if (Array.isArray(value)) {
    const isLine = name === 'args' || name === 'command';
    return value.map((item, at) => redact(item, isLine ? optionOf(item, value[at - 1]) : name));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([inner, item]) => [inner, name === 'environment' ? HIDDEN : redact(item, inner)]),
    );
  }
  return value;
}

const withoutSecrets = (text: string): string =>
  text
    .replaceAll(URL_CREDENTIALS, `$1${HIDDEN}@`)
    .replaceAll(URL_QUERY, (_, before: string, query: string) => before + withoutValues(query))
    .replaceAll(AUTHORIZATION, `$1 ${HIDDEN}`)
    .replaceAll(KEY, HIDDEN)
    .replace(/^(-+[^=\s]+)=(.+)$/s, (whole, option: string, told: string) =>
      isSecret(option, told) ? `${option}=${HIDDEN}` : whole,
    );

const withoutValues = (query: string): string =>
  query.replaceAll(/[^&]+/g, (part) => (part.includes('=') ? part.replace(/=.*$/s, `=${HIDDEN}`) : HIDDEN));

/** The option before an argument, where that makes it a secret. */
function optionOf(item: unknown, before: unknown): string {
  const isNamed = typeof before === 'string' && /^-+[^=\s]+$/.test(before) && typeof item === 'string';
  return isNamed && isSecret(before, item) ? before : '';
}

/** A number of tokens is none. */
const isSecret = (option: string, told: string): boolean =>
  SECRET_NAME.test(option) && !(/tokens$/i.test(option) && /^\d+$/.test(told));
