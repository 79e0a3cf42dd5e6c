import { Slider as AriaSlider, SliderThumb, SliderTrack } from "react-aria-components/Slider";

interface Props {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  onChange: (value: number) => void;
}

export function Slider({ label, value, min, max, step, onChange }: Props) {
  return (
    <AriaSlider
      aria-label={label}
      className="slider"
      value={value}
      minValue={min}
      maxValue={max}
      step={step}
      onChange={(next) => onChange(Array.isArray(next) ? (next[0] ?? min) : (next as number))}
    >
      <SliderTrack className="slider-track">
        {({ state }) => (
          <>
            <span className="slider-fill" style={{ width: `${state.getThumbPercent(0) * 100}%` }} />
            <SliderThumb className="slider-thumb" />
          </>
        )}
      </SliderTrack>
    </AriaSlider>
  );
}
