import { Handle, Position } from "@xyflow/react";
import { memo } from "react";
import type { PortDefinition } from "../../api/types";
import { PortShape } from "../PortShape";

interface Props {
  inputs: readonly PortDefinition[];
  outputs: readonly PortDefinition[];
  /** Names of wired ports: `<input`, `>output`. */
  wired: ReadonlySet<string>;
  /** Drawn on the head of the node, without names: those of a collapsed one. */
  small?: boolean;
}

/** The ports of a node, inputs on the left. Several of one side share their place on a collapsed node. */
export const NodePorts = memo(function NodePorts({ inputs, outputs, wired, small = false }: Props) {
  const rows = Math.max(inputs.length, outputs.length);
  if (rows === 0) return null;
  if (small) {
    return (
      <div className="node-ports-small">
        {inputs.map((port) => (
          <Port key={`<${port.name}`} port={port} side="input" wired={wired.has(`<${port.name}`)} />
        ))}
        {outputs.map((port) => (
          <Port key={`>${port.name}`} port={port} side="output" wired={wired.has(`>${port.name}`)} />
        ))}
      </div>
    );
  }
  return (
    <div className="node-ports">
      {Array.from({ length: rows }, (_, row) => {
        const input = inputs[row];
        const output = outputs[row];
        return (
          <div className="node-port-row" key={`${input?.name ?? ""}|${output?.name ?? ""}`}>
            {input !== undefined && (
              <>
                <Port port={input} side="input" wired={wired.has(`<${input.name}`)} />
                <span>{portName(input)}</span>
              </>
            )}
            <span className="grow" />
            {output !== undefined && (
              <>
                <Port port={output} side="output" wired={wired.has(`>${output.name}`)} />
                <span>{portName(output)}</span>
              </>
            )}
          </div>
        );
      })}
    </div>
  );
});

function portName(port: PortDefinition): string {
  return port.name.replaceAll("_", " ");
}

interface PortProps {
  port: PortDefinition;
  side: "input" | "output";
  wired: boolean;
}

function Port({ port, side, wired }: PortProps) {
  const isInput = side === "input";
  return (
    <Handle
      type={isInput ? "target" : "source"}
      position={isInput ? Position.Left : Position.Right}
      id={port.name}
      className={`port port-${side}${wired ? " port-wired" : ""}`}
      data-type={port.type}
      title={`${port.name}: ${port.type}`}
    >
      <PortShape type={port.type} filled={wired} />
    </Handle>
  );
}
