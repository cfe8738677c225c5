import { ServiceError } from '../core/error.ts';

export interface ModelsReloaderDeps {
  /** Reloads the models from the configuration file. */
  readonly reload: () => Promise<void>;
  /** Reads the text of the file; undefined if it is not readable. */
  readonly readText: () => string | undefined;
  readonly stdout: { write(text: string): unknown };
}

/**
 * Returns a function that reloads the models and prints a failure. A signal and the file watcher often report the same
 * change, so a failure is printed once per text of the file.
 */
export function createModelsReloader({ reload, readText, stdout }: ModelsReloaderDeps): () => Promise<void> {
  let failed: { readonly text: string | undefined } | undefined;
  return async () => {
    const text = readText();
    try {
      await reload();
      failed = undefined;
    } catch (error) {
      if (failed && failed.text === text) return;
      failed = { text };
      stdout.write(`The models were not reloaded: ${ServiceError.from(error).message}\n`);
    }
  };
}
