import type { ReactNode } from "react";
import { Tabs as AriaTabs, Tab, TabList, TabPanel } from "react-aria-components/Tabs";

export interface TabItem<Id extends string> {
  id: Id;
  label: string;
  /** A number after the label. */
  count?: number | undefined;
  icon?: ReactNode;
}

interface Props<Id extends string> {
  label: string;
  tabs: readonly TabItem<Id>[];
  selected: Id;
  onSelect: (id: Id) => void;
  /** What stands to the right of the tabs. */
  aside?: ReactNode;
  className?: string;
  headClassName?: string;
  panelClassName?: string;
  /** The selected tab's content. */
  children: ReactNode;
}

export function Tabs<Id extends string>(props: Props<Id>) {
  return (
    <AriaTabs
      className={props.className ?? ""}
      selectedKey={props.selected}
      onSelectionChange={(key) => props.onSelect(key as Id)}
    >
      <div className={props.headClassName ?? "row"}>
        <TabList className="tabs" aria-label={props.label} items={props.tabs}>
          {(tab) => (
            <Tab id={tab.id}>
              {tab.icon}
              {tab.label}
              {tab.count !== undefined && <span className="n">{tab.count}</span>}
            </Tab>
          )}
        </TabList>
        {props.aside}
      </div>
      {/* A panel of its own for each tab: one that only changes its name keeps the old id in the page. */}
      <TabPanel key={props.selected} id={props.selected} className={props.panelClassName ?? ""}>
        {props.children}
      </TabPanel>
    </AriaTabs>
  );
}
