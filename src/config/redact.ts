const HIDDEN = '(hidden)';

/** A name whose text is a secret; `apiKeyEnv` and `operatorTokenFile` only say where one is. */
const SECRET_NAME = /(?:key|token|secret|password|passphrase|authorization|credentials?|cookie)s?$/i;
const URL_CREDENTIALS = /(\/\/)[^/\s@]+@/g;

/** A copy of a configuration value that may be shown: secrets by their names, and user and password in addresses. */
export function redact(value: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    return SECRET_NAME.test(name) ? HIDDEN : value.replaceAll(URL_CREDENTIALS, `$1${HIDDEN}@`);
  }
  if (Array.isArray(value)) return value.map((item) => redact(item, name));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([inner, item]) => [inner, redact(item, inner)]));
  }
  return value;
}
