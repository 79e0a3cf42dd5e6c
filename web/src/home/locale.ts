import { locale } from "../i18n/locale";

export default locale({}, {});
