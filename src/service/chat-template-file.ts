import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { parsePartName } from '../core/split-model-file.ts';

/** Returns the template file that the entry's record names. */
export function getConfiguredTemplate({ runner }: Pick<ModelEntry, 'runner'>): string | undefined {
  if (runner.type === 'weights') return runner.chatTemplate;
  return runner.type === 'upstream' || runner.type === 'program' ? runner.remote.chatTemplate : undefined;
}

/**
 * Returns the template file of a model: the one that its record names, else the one next to the model file: `NAME.jinja` for
 * `NAME.gguf`, or for the parts of a split model. It replaces all templates in the model file.
 */
export function findTemplateFile(entry: Pick<ModelEntry, 'runner'>, modelFile: string | undefined): string | undefined {
  const configured = getConfiguredTemplate(entry);
  if (configured !== undefined || modelFile === undefined || !/\.gguf$/i.test(modelFile)) return configured;
  const neighbor = `${parsePartName(modelFile)?.stem ?? modelFile.replace(/\.gguf$/i, '')}.jinja`;
  return existsSync(neighbor) ? neighbor : undefined;
}

/** Reads a template file of an entry. @throws ServiceError `unsupported` when it cannot be read. */
export async function readTemplateFile(
  { name }: Pick<ModelEntry, 'name'>,
  file: string | undefined,
): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ServiceError('unsupported', `models.${name}.chatTemplate: cannot read the file ${file}.`, {
      cause: error,
    });
  }
}
