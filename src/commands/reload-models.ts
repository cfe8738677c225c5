import { ServiceError } from '../core/error.ts';

export interface ReloadNeeds {
  /** Reads the models of the file again. */
  readonly reload: () => Promise<void>;
  /** The file's text; undefined where it cannot be read. */
  readonly readText: () => string | undefined;
  readonly stdout: { write(text: string): unknown };
}

/**
 * Reads the models again at each call, and tells a failure. A signal and the look at the file often come for one change:
 * what was said of a text is not said again of the same text.
 */
export function createModelsReload({ reload, readText, stdout }: ReloadNeeds): () => Promise<void> {
  let faulty: { readonly text: string | undefined } | undefined;
  return async () => {
    const text = readText();
    try {
      await reload();
      faulty = undefined;
    } catch (error) {
      if (faulty && faulty.text === text) return;
      faulty = { text };
      stdout.write(`The models stay as they are: ${ServiceError.from(error).message}\n`);
    }
  };
}
