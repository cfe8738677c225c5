import type { LoadedModel } from '../engine.ts';

/** Creates a function that replaces the templates of a model. It returns the same object for the same model. */
export function createTemplateOverride(chatTemplate: string | undefined): (model: LoadedModel) => LoadedModel {
  const replaced = new WeakMap<LoadedModel, LoadedModel>();
  return (model) => {
    if (chatTemplate === undefined) return model;
    const { toolTemplate: _, ...others } = model;
    const result = replaced.get(model) ?? { ...others, chatTemplate };
    replaced.set(model, result);
    return result;
  };
}
