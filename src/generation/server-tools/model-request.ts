import type { Tool } from '../../core/message.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { addCodeTool, addProgramInstructions, createCodeTool } from './code-tool.ts';
import { listPrograms } from './prompted-programs.ts';

/** Creates the request of a model run: without server tools, and with the code tool if programs may be called. */
export function toModelRequest(request: GenerationRequest, tool: Tool | undefined): GenerationRequest {
  const { serverTools: _, ...plain } = request;
  const toolUse = tool && addCodeTool(request.toolUse, tool);
  if (!toolUse) return plain;
  // An answer with a form has no fenced blocks.
  const messages = request.outputFormat ? request.messages : addProgramInstructions(request.messages);
  return {
    ...plain,
    messages,
    toolUse,
    programBlocks: { tool: tool.name, ranPrograms: listPrograms(request.messages) },
  };
}

/** Names of server tools that the caller's own tools exclude. */
export const findIgnoredServerTools = ({ serverTools, toolUse }: GenerationRequest): readonly string[] =>
  serverTools?.code && !addCodeTool(toolUse, createCodeTool(toolUse?.tools ?? [])) ? ['enable_code_interpreter'] : [];
