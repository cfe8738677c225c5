const HIDDEN = '(hidden)';

/** Names of secrets. `apiKeyEnv` and `operatorTokenFile` do not match: they only name where a secret is. */
const SECRET_NAME = /(?:key|token|secret|password|passphrase|authorization|credentials?|cookie)s?$/i;

/** Credentials of a URL: up to the last `@` of the authority, or of the whole text if the password contains a slash. */
const URL_CREDENTIALS = /(:\/\/)(?:[^/?#\s]*|[^/?#\s:]*:(?!\d*(?:[/?#]|$))\S*)@/g;
const URL_QUERY = /(:\/\/[^\s?#]*\?)([^\s#]+)/g;

/** Texts in the form of a secret, whatever their name. */
const AUTHORIZATION = /\b(Bearer|Basic)\s+\S+/gi;
const API_KEY = /\b(?:sk-|hf_)[\w-]{8,}/g;

/**
 * Copies a configuration value for display. Hides values whose names are those of secrets, user, password and query
 * values of URLs, environment variables of programs, and secret arguments.
 */
export function redact(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return SECRET_NAME.test(name) ? HIDDEN : hideSecrets(value);
  if (Array.isArray(value)) {
    const isCommandLine = name === 'args' || name === 'command';
    return value.map((item, at) => redact(item, isCommandLine ? getOptionName(item, value[at - 1]) : name));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([inner, item]) => [inner, name === 'environment' ? HIDDEN : redact(item, inner)]),
    );
  }
  return value;
}

const hideSecrets = (text: string): string =>
  text
    .replaceAll(URL_CREDENTIALS, `$1${HIDDEN}@`)
    .replaceAll(URL_QUERY, (_, before: string, query: string) => before + hideQueryValues(query))
    .replaceAll(AUTHORIZATION, `$1 ${HIDDEN}`)
    .replaceAll(API_KEY, HIDDEN)
    .replace(/^(-+[^=\s]+)=(.+)$/s, (whole, option: string, argument: string) =>
      isSecretOption(option, argument) ? `${option}=${HIDDEN}` : whole,
    );

const hideQueryValues = (query: string): string =>
  query.replaceAll(/[^&]+/g, (part) => (part.includes('=') ? part.replace(/=.*$/s, `=${HIDDEN}`) : HIDDEN));

/** Returns the option before an argument, if the option makes it a secret; otherwise an empty text. */
function getOptionName(item: unknown, before: unknown): string {
  const isNamed = typeof before === 'string' && /^-+[^=\s]+$/.test(before) && typeof item === 'string';
  return isNamed && isSecretOption(before, item) ? before : '';
}

/** Whether the value of an option is a secret. A number after `--max-tokens` is not. */
const isSecretOption = (option: string, argument: string): boolean =>
  SECRET_NAME.test(option) && !(/tokens$/i.test(option) && /^\d+$/.test(argument));
