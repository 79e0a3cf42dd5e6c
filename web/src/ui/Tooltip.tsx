import type { ReactElement } from "react";
import { Tooltip, TooltipTrigger } from "react-aria-components/Tooltip";

interface Props {
  text: string;
  keys?: string | undefined;
  /** A React Aria button or other focusable element. */
  children: ReactElement;
}

export function Tip({ text, keys, children }: Props) {
  return (
    <TooltipTrigger delay={500} closeDelay={80}>
      {children}
      <Tooltip className="tooltip" offset={6}>
        {text}
        {keys !== undefined && <span className="kbd">{keys}</span>}
      </Tooltip>
    </TooltipTrigger>
  );
}
